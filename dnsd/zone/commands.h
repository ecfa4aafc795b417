/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of vmmnet-zone */
#ifndef DNSD_ZONE_COMMANDS_H
#define DNSD_ZONE_COMMANDS_H

#include "base/args.h"

extern const ArgCommand command_compile;
extern const ArgCommand command_print;
extern const ArgCommand command_check;
extern const ArgCommand command_show;
extern const ArgCommand command_diff;

#endif /* DNSD_ZONE_COMMANDS_H */
