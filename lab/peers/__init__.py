# SPDX-License-Identifier: GPL-2.0-or-later
"""Peers of virtio-vmrpc and of netdevs: servers, passt, a vhost-user backend."""
