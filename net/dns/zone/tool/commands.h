/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of vmmnet-zone */
#ifndef NET_DNS_ZONE_TOOL_COMMANDS_H
#define NET_DNS_ZONE_TOOL_COMMANDS_H

#include "net/dns/zone/tool/args.h"

#define PROGRAM "vmmnet-zone"

extern const ArgCommand command_compile;
extern const ArgCommand command_print;
extern const ArgCommand command_check;
extern const ArgCommand command_show;
extern const ArgCommand command_diff;

#endif /* NET_DNS_ZONE_TOOL_COMMANDS_H */
