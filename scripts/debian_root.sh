# Roots of Debian's releases, in which checks run. Sourced after common.sh.

# debian_root RELEASE: prints the folder of a minimal root of "bullseye", "bookworm" or "trixie", and makes it
# the first time. Folders are kept in $ASSAY_ROOTS, or in the cache folder. Needs root.
debian_root() {
  local roots=${ASSAY_ROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/assay-roots} site
  local folder=$roots/$1
  if [ ! -e "$folder.complete" ]; then
    need debootstrap >&2
    site=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)
    [ -n "$site" ] || site=$(apt-get indextargets --format '$(SITE)' | head -n 1)
    rm -rf "$folder"
    mkdir -p "$roots"
    echo "making a root of Debian $1 in $folder" >&2
    debootstrap --variant=minbase "$1" "$folder" "$site" >"$folder.log" 2>&1 ||
      fail "debootstrap could not make a root of Debian $1 (its log is $folder.log; is there a network?)"
    touch "$folder.complete"
  fi
  echo "$folder"
}
