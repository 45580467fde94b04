#!/usr/bin/env bash
# Installs from Debian what the tests call, where that is allowed: only what is missing, only as root, only with apt.
# Elsewhere it says what is missing and which tests will be listed as ignored for it. Never fails: a missing program
# makes tests ignored, not red.
set -euo pipefail

# program  package      what is ignored without it
needs='
mkfs.ext4  e2fsprogs    every test on a disk of its own
losetup    util-linux   every test on a disk of its own
mkfs.xfs   xfsprogs     tests on xfs
mkfs.btrfs btrfs-progs  tests on btrfs
fio        fio          comparisons with fio
fusermount3 fuse3       tests on FUSE
jq         jq           contract tests that read JSON as a pipeline would
strace     strace       tests that count system calls
'

# mkfs and losetup lie in sbin, which an ordinary user may not have on PATH.
PATH=$PATH:/usr/sbin:/sbin

missing() {
  local program package rest
  while read -r program package rest; do
    [[ -z $program ]] || command -v "$program" >/dev/null || printf '%s\t%s\t%s\n' "$program" "$package" "$rest"
  done <<<"$needs"
}

install_missing() {
  local packages
  mapfile -t packages < <(missing | cut -f2 | sort -u)
  export DEBIAN_FRONTEND=noninteractive
  local apt=(apt-get -qq -o DPkg::Lock::Timeout=60)
  "${apt[@]}" install -y --no-install-recommends "${packages[@]}" </dev/null >/dev/null 2>&1 && return
  "${apt[@]}" update </dev/null >/dev/null 2>&1 || true
  "${apt[@]}" install -y --no-install-recommends "${packages[@]}" </dev/null >/dev/null || true
}

[[ -z $(missing) ]] && exit 0
if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
  install_missing
fi
missing | while IFS=$'\t' read -r program package rest; do
  echo "packages: no $program (Debian package $package); ignored: $rest" >&2
done
exit 0
