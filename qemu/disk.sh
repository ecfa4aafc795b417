# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Full disks, which programs report as something else; to be sourced.

# Says which disk is full, if that is why a program failed; false if it is not.
# A log on a full disk does not tell, so the room that is left tells as well.
full_disk() { # LOG DIRECTORY...
    local log=$1 directory free full='' room=()
    ! grep -qE "No space left on device|enough free space in|Disk quota exceeded" "$log" || full=yes
    shift
    for directory; do
        free=$(df -Pm "$directory" 2>/dev/null | awk 'NR == 2 { print $4 }')
        [ -n "$free" ] || continue
        [ "$free" -ge 4 ] || full=yes
        room+=("$directory has $free MiB free")
    done
    [ -n "$full" ] || return 1
    printf '%s, ' "${room[@]}" | sed 's/, $//; s/^/the disk is full (/; s/$/)/'
}
