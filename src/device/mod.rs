//! Reads /sys, /proc, mounts and cgroups under given roots; counters, cache state and locks of the disk under a path.
