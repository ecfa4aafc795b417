# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands of all rooms share: parser, exit statuses, output, completion."""
