# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN in the kernel: interfaces with the eBPF twin."""
