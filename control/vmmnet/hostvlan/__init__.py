# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN's control plane: who may speak to whom, in one table a host."""
