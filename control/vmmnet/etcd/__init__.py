# SPDX-License-Identifier: GPL-2.0-or-later
"""etcd, for every room that keeps something there."""
