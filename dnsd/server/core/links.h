/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interfaces of this host: their names, and in which VRF each is
 *
 * One thread keeps them, from the kernel's messages.  Other threads get a copy
 * of what they need, which does not change.
 */
#ifndef DNSD_SERVER_CORE_LINKS_H
#define DNSD_SERVER_CORE_LINKS_H

#include "base/rtnl.h"

typedef struct DnsdLinks DnsdLinks;
/* Interfaces in VRFs; NULL if there is no VRF */
typedef struct DnsdVrfs DnsdVrfs;

/** dnsd_links_new: no interface yet; NULL without memory */
DnsdLinks *dnsd_links_new(void);

/** dnsd_links_free: NULL is allowed */
void dnsd_links_free(DnsdLinks *links);

/**
 * dnsd_links_take: learn from an event
 *
 * Between RTNL_LOST and RTNL_LISTED all links must come; those that do not are
 * gone.
 *
 * Returns: whether anything here has changed
 */
bool dnsd_links_take(DnsdLinks *links, const RtnlEvent *event);

/** dnsd_links_index: the index of an interface; 0: there is none */
unsigned dnsd_links_index(const DnsdLinks *links, const char *name);

/** dnsd_links_name: the name of an interface; NULL: there is none */
const char *dnsd_links_name(const DnsdLinks *links, unsigned index);

/**
 * dnsd_links_vrf: the index of the VRF that has an interface; 0: none
 * @index: of the interface; a VRF has itself
 */
unsigned dnsd_links_vrf(const DnsdLinks *links, unsigned index);

/** dnsd_links_next_vrf: the VRF of the next higher index; 0: there is none */
unsigned dnsd_links_next_vrf(const DnsdLinks *links, unsigned index);

/** dnsd_links_vrfs: a copy, for free(); NULL without VRFs or memory */
DnsdVrfs *dnsd_links_vrfs(const DnsdLinks *links);

/**
 * dnsd_vrfs_of: the index of the VRF that has an interface
 * @vrfs: NULL is allowed
 * @index: of the interface; a VRF has itself
 *
 * Returns: 0: none has it.
 */
unsigned dnsd_vrfs_of(const DnsdVrfs *vrfs, unsigned index);

#endif /* DNSD_SERVER_CORE_LINKS_H */
