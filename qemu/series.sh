# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
#
# The series of QEMU: which there are, which one is meant. To be sourced; the
# caller has set `here`, this folder, and `die`.
#
# The default series has the names that everything uses, qemu/src and
# build/qemu-SHAPE. Another one stands beside it, with its name appended.

series_names() { awk '!/^#/ && NF {print $1}' "$here/series"; }

# Sets: series; suffix, of its folders' names; release, of Debian; src.
choose_series() { # SERIES, or nothing for the default
    local default
    default=$(series_names | head -n 1)
    series=${1:-$default}
    release=$(awk -v s="$series" '!/^#/ && $1 == s {print $2}' "$here/series")
    [ -n "$release" ] ||
        die "--series=$series is none of QEMU's series that vmmnet has patches for: give one of $(series_names | xargs)."
    suffix=-$series
    [ "$series" != "$default" ] || suffix=
    src=$here/src$suffix
}
