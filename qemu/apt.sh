# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Debian's sources by apt, with a state directory of its own; to be sourced.
#
# The mirror is read from the system's apt sources, and the release is verified
# by apt. The system's own configuration and lists stay as they are. The caller
# has set:
#
#   apt      the state directory
#   log      what apt says
#   keyring  the keys that releases are signed with

own_apt() { # APT-TOOL ARGUMENT...
    local tool=$1
    shift
    "$tool" -q -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" \
        -o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o APT::Get::List-Cleanup=false \
        -o Acquire::Retries=2 "$@"
}

# apt reads its own configuration best, in either of its formats. A system
# whose lists were never fetched knows no Origin yet; there the name decides.
mirrors() {
    # shellcheck disable=SC2016 # apt expands these
    apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(RELEASE) $(REPO_URI)' \
        'Created-By: Packages' 2>>"$log" | sed 's/^ /- /' |
        awk '$2 == "main" && ($1 == "Debian" || $1 == "-" &&
             $3 ~ /^(bullseye|bookworm|trixie|forky|duke|sid|(old)*stable|testing|unstable)/) {
                 print ($3 ~ /security/ ? "-security" : ""), $4 }' |
        awk '{ print (NF == 2 ? $1 : "-"), $NF }' | sort -u
}

# Sources of a release of Debian; false: the system knows no mirror.
write_sources() { # RELEASE
    local kind uri any=
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,sources}
    : >"$apt/status"
    : >"$apt/sources.list.new"
    while read -r kind uri; do
        any=yes
        if [ "$kind" = - ]; then kind=; fi
        case $1$kind in sid-security|experimental-security) continue ;; esac # there is none
        echo "deb-src [signed-by=$keyring] $uri $1$kind main" >>"$apt/sources.list.new"
    done < <(mirrors)
    [ -n "$any" ] || return 1
    mv "$apt/sources.list.new" "$apt/sources.list"
}

apt_said() { # the first complaint of apt, for the one sentence we print
    { grep -m1 '^[EW]: Failed to fetch' "$log" || grep -m1 '^E: ' "$log" || echo "see $log"; } |
        sed 's/^[EW]: *//' | cut -c1-200
}
