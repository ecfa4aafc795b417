# SPDX-License-Identifier: GPL-2.0-or-later
"""vmmnet: the network inside the virtual machine monitor, seen from the host."""

VERSION = "0.1"
