# SPDX-License-Identifier: GPL-2.0-or-later
"""The switch in a NIC: NICs without QEMU, controllers, Open vSwitch, ESP."""
