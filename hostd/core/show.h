/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the VMs and their addresses (docs/hostd.md) */
#ifndef HOSTD_SHOW_H
#define HOSTD_SHOW_H

#include "hostd/core/registry.h"

/** hostd_show_text: a line for each VM, and one for each of its addresses */
void hostd_show_text(const HostdRegistry *r, GString *out);

/** hostd_show_json: the same, as one line */
void hostd_show_json(const HostdRegistry *r, GString *out);

/** hostd_show_metrics: how many there are, in Prometheus' text format */
void hostd_show_metrics(const HostdRegistry *r, GString *out);

#endif /* HOSTD_SHOW_H */
