# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN while its agents, its etcd and its commands are killed: what the test consists of."""
