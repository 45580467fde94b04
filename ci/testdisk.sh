#!/usr/bin/env bash
# Test disks over memory with known rates.
#
#   reference   file in memory, loop device with direct I/O, file system; the loop device is throttled
#   ref-cache   the same, and on it a file under a second loop device without direct I/O: a page cache lies
#               below the disk that is measured, invisible to that disk's own counters
#
# Everything belonging to disk NAME lies in the two places `down` clears: the image /dev/shm/iogate-disk-NAME and the
# folder /run/iogate-testdisk/NAME. Loop devices are found by those images alone, so no other one is ever touched,
# also after a kill between two steps.
#
# The throttle is blkio of cgroup v1 at the root group, or io.max of cgroup v2 in the group iogate-testdisk. Version 1
# holds the processes of the root group, version 2 those of that group: start the program under test with `exec`,
# which puts it there. Limits are set on the throttled loop device only; the memory below it is no block device, so
# nothing is counted twice.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

readonly RUN=/run/iogate-testdisk
readonly IMAGES=/dev/shm
readonly CGROUP=${IOGATE_TESTDISK_CGROUP:-/sys/fs/cgroup}   # another root only to try the version not at hand
readonly GROUP=$CGROUP/iogate-testdisk
readonly DRAIN=10   # seconds a file system may stay busy: killed io_uring writes drain at the throttle's rate

usage() {
  cat <<'TEXT'
usage: ci/testdisk.sh up reference|ref-cache [--name N] [--fs ext4|xfs|btrfs] [--size 2GiB]
                      [--read MB/s|none] [--write MB/s|none]     prints the mount point
       ci/testdisk.sh rate N [--read MB/s|none] [--write MB/s|none]
       ci/testdisk.sh check N                                    measures the throttle, fails when it does not act
       ci/testdisk.sh exec N -- COMMAND...                       runs COMMAND where the throttle holds it
       ci/testdisk.sh down N|--all
       ci/testdisk.sh list
Rates are decimal: 90 is 90,000,000 bytes a second. N is the kind unless --name says otherwise.
TEXT
}

say() { echo "testdisk: $*" >&2; }
die() { say "$*"; exit 1; }
wrong() { say "$*"; usage >&2; exit 2; }

# --- names, sizes, rates -----------------------------------------------------------------------------------------

check_name() { [[ $1 =~ ^[a-z0-9][a-z0-9-]{0,31}$ ]] || wrong "name '$1': expected a-z, 0-9 and -, 32 at most"; }

bytes_of() {   # "2GiB" -> 2147483648
  [[ $1 =~ ^([1-9][0-9]*)(MiB|GiB)$ ]] || wrong "size '$1': expected a whole number of MiB or GiB, as in 2GiB"
  case ${BASH_REMATCH[2]} in
    MiB) echo $((BASH_REMATCH[1] * 1024 * 1024)) ;;
    GiB) echo $((BASH_REMATCH[1] * 1024 * 1024 * 1024)) ;;
  esac
}

bps_of() {     # "90" or "4.5" -> bytes a second; "none" -> 0
  [[ $1 == none ]] && { echo 0; return; }
  [[ $1 =~ ^[0-9]+(\.[0-9]+)?$ ]] || wrong "rate '$1': expected MB/s as in 90 or 4.5, or none"
  awk -v mb="$1" 'BEGIN { b = mb * 1e6; if (b < 65536) exit 1; printf "%.0f\n", b }' || wrong "rate '$1' MB/s is too low"
}

mbps_of() { awk -v b="${1:-0}" 'BEGIN { if (b == 0) print "none"; else print b / 1e6 }'; }

uuid_of() {    # fixed for a name, so that a baseline finds its disk again; different for disks that are up together
  printf 'iogate %s' "$1" | md5sum | sed -E 's/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/\1-\2-4\3-8\4-\5/'
}

# --- state: one folder a disk, one file a fact ---------------------------------------------------------------------

keep() { printf '%s\n' "$3" >"$RUN/$1/$2"; }
kept() { cat "$RUN/$1/$2" 2>/dev/null || true; }
image_of() { echo "$IMAGES/iogate-disk-$1"; }
loops_of() { losetup -j "$1" 2>/dev/null | cut -d: -f1; }
dev_of() { cat "/sys/block/${1#/dev/}/dev"; }

# --- the throttle ----------------------------------------------------------------------------------------------------

cgroup_version() {
  if [[ -e $CGROUP/blkio/blkio.throttle.read_bps_device ]]; then echo 1
  elif grep -qw io "$CGROUP/cgroup.controllers" 2>/dev/null; then echo 2
  else echo none; fi
}

max_of() { if [[ $1 == 0 ]]; then echo max; else echo "$1"; fi; }

throttle() {   # LOOP READ_BPS WRITE_BPS, 0 for no limit; a number left by an earlier owner of the loop device goes too
  local dev; dev=$(dev_of "$1")
  case $(cgroup_version) in
    1) echo "$dev $2" >"$CGROUP/blkio/blkio.throttle.read_bps_device"
       echo "$dev $3" >"$CGROUP/blkio/blkio.throttle.write_bps_device" ;;
    2) if [[ ! -d $GROUP ]]; then
         [[ $2 == 0 && $3 == 0 ]] && return
         grep -qw io "$CGROUP/cgroup.subtree_control" || { echo +io >"$CGROUP/cgroup.subtree_control"; touch "$RUN/.io"; }
         mkdir "$GROUP"
       fi
       echo "$dev rbps=$(max_of "$2") wbps=$(max_of "$3")" >"$GROUP/io.max" ;;
  esac
}

need_controller() {   # READ_BPS WRITE_BPS
  [[ $1 == 0 && $2 == 0 ]] || [[ $(cgroup_version) != none ]] ||
    die "no cgroup controller for block I/O under $CGROUP: only --read none --write none works here"
}

leave_group() {   # version 2: the last disk takes the group with it
  [[ -z $(names) ]] || return 0
  [[ ! -d $GROUP ]] || rmdir "$GROUP" 2>/dev/null || say "left $GROUP: a process still runs in it"
  [[ ! -e $RUN/.io ]] || { echo -io >"$CGROUP/cgroup.subtree_control" 2>/dev/null || true; rm -f "$RUN/.io"; }
}

# --- up ----------------------------------------------------------------------------------------------------------------

make_fs() {    # LOOP FS UUID LABEL: nothing left to write by itself later, no discard that punches the image
  case $2 in
    ext4)  mkfs.ext4 -q -F -m 0 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 -U "$3" -L "$4" "$1" ;;
    xfs)   mkfs.xfs -q -f -K -m "uuid=$3" -L "$4" "$1" ;;
    btrfs) mkfs.btrfs -q -f -K -U "$3" -L "$4" "$1" ;;
  esac >/dev/null
}

zeros() { dd if=/dev/zero of="$2" bs=1M count=$(($1 / 1048576)) status=none; }

attach() {     # FILE on|off -> LOOP; direct I/O where the file below takes it
  local loop; loop=$(losetup --show -f "$1")
  losetup --direct-io="$2" "$loop" 2>/dev/null || true
  # A loop device keeps the scheduler of its last owner.
  echo none >"/sys/block/${loop#/dev/}/queue/scheduler"
  echo "$loop"
}

direct_of() { [[ $(cat "/sys/block/${1#/dev/}/loop/dio") == 1 ]] && echo "with direct I/O" || echo "without direct I/O"; }

build_reference() {   # NAME FS BYTES LABEL MOUNT UUID -> the throttled loop device in state
  local image loop; image=$(image_of "$1")
  # Written, not only sized: the first touch of a page must not be timed later.
  ( umask 077; zeros "$3" "$image" ) || die "no room for $3 bytes in $IMAGES"
  loop=$(attach "$image" on)
  keep "$1" loop "$loop"
  throttle "$loop" 0 0
  make_fs "$loop" "$2" "$6" "$4"
  mount -o noatime "$loop" "$5"
  say "$1: $2 on $loop, $(direct_of "$loop"), over memory"
}

build_cache() {       # NAME FS BYTES: a second loop device, buffered, on a file of the first
  local room=$(($3 + $3 / 16 + 256 * 1024 * 1024)) file loop
  mkdir -p "$RUN/$1/lower"
  build_reference "$1" ext4 "$room" iogate-lower "$RUN/$1/lower" "$(uuid_of "$1-lower")"
  file=$RUN/$1/lower/disk
  zeros "$3" "$file"
  loop=$(attach "$file" off)
  keep "$1" upper "$loop"
  throttle "$loop" 0 0
  make_fs "$loop" "$2" "$(uuid_of "$1")" iogate-cache
  mount -o noatime "$loop" "$RUN/$1/mnt"
  sync -f "$RUN/$1/mnt"; sync -f "$file"
  dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none   # starts with nothing cached below
  say "$1: $2 on $loop, $(direct_of "$loop"), over the file system above"
}

up() {
  local kind=${1:-} name='' fs=ext4 size=2GiB read=90 write=60
  [[ $kind == reference || $kind == ref-cache ]] || wrong "kind '$kind': expected reference or ref-cache"
  shift; name=$kind
  while (($#)); do
    (($# >= 2)) || wrong "$1 needs a value"
    case $1 in
      --name) name=$2 ;; --fs) fs=$2 ;; --size) size=$2 ;; --read) read=$2 ;; --write) write=$2 ;;
      *) wrong "unknown option $1" ;;
    esac
    shift 2
  done
  check_name "$name"
  [[ $fs =~ ^(ext4|xfs|btrfs)$ ]] || wrong "file system '$fs': expected ext4, xfs or btrfs"
  local bytes rbps wbps
  bytes=$(bytes_of "$size"); rbps=$(bps_of "$read"); wbps=$(bps_of "$write")
  need_root
  need_controller "$rbps" "$wbps"

  local made="$kind $fs $size"
  if [[ -d $RUN/$name ]]; then
    if mountpoint -q "$RUN/$name/mnt" && [[ -n $(kept "$name" made) ]]; then
      [[ $(kept "$name" made) == "$made" ]] || die "$name is up as '$(kept "$name" made)', not '$made': take it down first"
      set_rate "$name" "$rbps" "$wbps"
      echo "$RUN/$name/mnt"
      return
    fi
    say "$name: clearing a half-made disk"
    down "$name"
  fi
  UNDO=$name
  mkdir -p "$RUN/$name/mnt"
  case $kind in
    reference) build_reference "$name" "$fs" "$bytes" iogate-ref "$RUN/$name/mnt" "$(uuid_of "$name")" ;;
    ref-cache) build_cache "$name" "$fs" "$bytes" ;;
  esac
  set_rate "$name" "$rbps" "$wbps"
  keep "$name" made "$made"
  UNDO=''
  echo "$RUN/$name/mnt"
}

set_rate() {   # NAME READ_BPS WRITE_BPS
  need_controller "$2" "$3"
  throttle "$(kept "$1" loop)" "$2" "$3"
  keep "$1" read "$2"; keep "$1" write "$3"
}

rate() {
  local name=$1 rbps wbps; shift
  need_up "$name"; need_root
  rbps=$(kept "$name" read); wbps=$(kept "$name" write)
  (($#)) || wrong "rate needs --read, --write or both"
  while (($#)); do
    (($# >= 2)) || wrong "$1 needs a value"
    case $1 in --read) rbps=$(bps_of "$2") ;; --write) wbps=$(bps_of "$2") ;; *) wrong "unknown option $1" ;; esac
    shift 2
  done
  set_rate "$name" "$rbps" "$wbps"
}

# --- down ----------------------------------------------------------------------------------------------------------------

unmount() {    # MOUNT: also when mounted twice; waits while I/O of a killed process drains
  local deadline=$((SECONDS + DRAIN)) said=''
  while mountpoint -q "$1"; do
    umount "$1" 2>/dev/null && continue
    [[ -n $said ]] || say "$1 is busy: waiting up to $DRAIN s"
    said=1
    ((SECONDS < deadline)) || { say "$1 is still busy"; fuser -vm "$1" >&2 2>/dev/null || true; return 1; }
    sleep 0.2
  done
}

detach() {     # FILE: the loop devices over it
  local loop deadline
  for loop in $(loops_of "$1"); do
    throttle "$loop" 0 0
    blkid -t TYPE=btrfs "$loop" >/dev/null 2>&1 && { btrfs device scan --forget "$loop" >/dev/null 2>&1 || true; }
    losetup -d "$loop"
  done
  deadline=$((SECONDS + DRAIN))
  while [[ -n $(loops_of "$1") ]]; do   # detached lazily while something holds it open
    ((SECONDS < deadline)) || { say "$(loops_of "$1") is still in use"; return 1; }
    sleep 0.1
  done
}

down() {       # tolerates every half-made state; what is not there is not an error
  local name=$1 image; image=$(image_of "$name")
  unmount "$RUN/$name/mnt" || return 1
  detach "$RUN/$name/lower/disk" || return 1
  unmount "$RUN/$name/lower" || return 1
  detach "$image" || return 1
  rm -f "$image"
  if [[ -d $RUN/$name ]]; then
    rm -f "$RUN/$name"/{made,loop,upper,read,write}
    rmdir "$RUN/$name"/{mnt,lower} 2>/dev/null || true
    rmdir "$RUN/$name"
  fi
  leave_group
}

# --- asking --------------------------------------------------------------------------------------------------------------

names() {
  local folder
  for folder in "$RUN"/*/; do [[ -d $folder ]] && basename "$folder"; done
  return 0
}

list() {
  local name
  for name in $(names); do
    printf '%s\t%s\t%s\tread %s\twrite %s\t%s\n' "$name" "$(kept "$name" made)" "$(kept "$name" loop)" \
      "$(mbps_of "$(kept "$name" read)")" "$(mbps_of "$(kept "$name" write)")" "$RUN/$name/mnt"
  done
}

join_group() {
  case $(cgroup_version) in
    1) grep -q ':blkio:/$' /proc/self/cgroup || echo $$ >"$CGROUP/blkio/cgroup.procs" ;;
    2) [[ ! -d $GROUP ]] || echo $$ >"$GROUP/cgroup.procs" ;;
  esac
}

seen_mbps() {  # LOOP: 2 s of direct 128 KiB reads; the throttle must hold the device, whatever lies on it
  local loop=$1 start bytes=0 chunk=$((8 * 1024 * 1024)) blocks now
  blocks=$(($(cat "/sys/block/${loop#/dev/}/size") / 256))
  start=$(date +%s%N); now=$start
  while ((now - start < 2000000000)); do
    dd if="$loop" of=/dev/null bs=128k count=64 skip=$((bytes / 131072 % blocks)) iflag=direct status=none
    bytes=$((bytes + chunk)); now=$(date +%s%N)
  done
  awk -v b="$bytes" -v ns="$((now - start))" 'BEGIN { printf "%.1f\n", b / ns * 1000 }'
}

check() {
  local name=$1 want seen
  need_up "$name"; need_root
  want=$(kept "$name" read)
  ((want > 0)) || { say "$name: reads are not throttled, nothing to check"; return; }
  join_group
  seen=$(seen_mbps "$(kept "$name" loop)")
  say "$name: reads at $seen MB/s, set to $(mbps_of "$want")"
  awk -v s="$seen" -v b="$want" 'BEGIN { exit !(s < b / 1e6 * 1.25) }' || die "$name: the throttle does not act"
}

need_up() { [[ -n $(kept "$1" made) ]] || die "$1 is not up: $(names | tr '\n' ' ')"; }
need_root() { [[ $EUID -eq 0 ]] || die "needs root: loop devices, mounts and throttles"; }

# --- the command line ----------------------------------------------------------------------------------------------------

UNDO=''
undo() { local code=$?; [[ -z $UNDO ]] || down "$UNDO" || true; exit "$code"; }

locked() {     # one change at a time, undone when it does not come to its end
  need_root
  mkdir -p "$RUN"
  exec 9>"$RUN/.lock"
  flock -w 120 9 || die "another testdisk.sh is at work"
  trap undo EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  "$@"
}

main() {
  local verb=${1:-help} name; (($#)) && shift
  case $verb in
    up) locked up "$@" ;;
    rate|check|exec|down)
      (($#)) || wrong "$verb needs a name"
      name=$1; shift
      if [[ $verb == down && $name == --all ]]; then
        need_root
        local failed=0
        for name in $(names); do ( locked down "$name" ) || failed=1; done
        exit $failed
      fi
      check_name "$name"
      case $verb in
        rate) locked rate "$name" "$@" ;;
        down) locked down "$name" ;;
        check) check "$name" ;;
        exec) [[ ${1:-} == -- ]] && shift; (($#)) || wrong "exec needs a command"
              need_up "$name"; join_group; exec "$@" ;;
      esac ;;
    list) list ;;
    help|-h|--help) usage ;;
    *) wrong "unknown command '$verb'" ;;
  esac
}
main "$@"
