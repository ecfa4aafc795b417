# SPDX-License-Identifier: GPL-2.0-or-later
#
# Bash completion of vmmnet: source it, or put it where bash-completion looks:
#   /usr/share/bash-completion/completions/vmmnet
#
# The command itself knows what can come next: sub-commands, options, and the
# MAC addresses and LNIDs of the table.

_vmmnet()
{
    local line=${COMP_LINE:0:COMP_POINT} current reply before
    local -a words
    # Not COMP_WORDS: there a MAC address is eleven words.
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[-1]}
    COMPREPLY=()
    while IFS= read -r reply; do
        if [[ $reply == :files ]]; then
            compopt -o filenames 2> /dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            break
        fi
        COMPREPLY+=("$reply")
    done < <("${words[0]}" _complete "${words[@]:1}" 2> /dev/null)
    # What bash takes for a word begins behind the last colon.
    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
        before=${current%"${current##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
} && complete -F _vmmnet vmmnet
