/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast path for a vmmnet-ha that was built without clang or libbpf */
#include <errno.h>

#include "ha/host/fast.h"

const uint8_t mip6_fast_program[1];
const size_t mip6_fast_program_len;

Mip6Fast *mip6_fast_load(const void *program, size_t len,
                         const struct in6_addr *agent, uint32_t head,
                         unsigned bindings, uint32_t bulk, GError **errp)
{
    g_set_error(errp, g_quark_from_static_string("mip6-fast-error"), ENOSYS,
                "vmmnet-ha was built without clang or libbpf");
    return NULL;
}

bool mip6_fast_attach(Mip6Fast *f, int tun_index, GError **errp)
{
    return false;
}

void mip6_fast_look(Mip6Fast *f)
{
}

void mip6_fast_free(Mip6Fast *f)
{
}

int mip6_fast_fd(const Mip6Fast *f)
{
    return -1;
}

void mip6_fast_let_pass(Mip6Fast *f, const Mip6AgentPass *pass)
{
}

void mip6_fast_stop(Mip6Fast *f, const struct in6_addr *home)
{
}

Mip6AgentPassed mip6_fast_passed(const Mip6Fast *f,
                                 const struct in6_addr *home)
{
    return (Mip6AgentPassed) { 0 };
}
