# SPDX-License-Identifier: GPL-2.0-or-later
#
# Bash completion of vmmnet: source it, or put it where bash-completion looks:
#   /usr/share/bash-completion/completions/vmmnet
#
# The command itself knows what can come next: sub-commands, options, and the
# MAC addresses and LNIDs of the table. The Debian package python3-argcomplete
# asks it.

eval "$(register-python-argcomplete --no-defaults vmmnet)"
