/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A simulated host, and the state of vmmnet-hostd */
#ifndef HOSTD_FIXTURE_H
#define HOSTD_FIXTURE_H

#include "hostd/core/session.h"

#define VM_A    "0a7c1f3e-0000-4000-8000-00000000000a"
#define VM_B    "0a7c1f3e-0000-4000-8000-00000000000b"
#define PIDS_A  "/run/a.pid"
#define ADDR_1  "2001:db8::1"
#define ADDR_2  "2001:db8::2"

#define REGISTER(vm, pids, addr) \
    "register " vm " " pids "\naddress6 " addr " eth0\nend\n"

typedef struct FakeHost {
    Hostd hostd;
    GString *done;              /* actions, a word each */
    GString *file;              /* the state file */
    GString *log;               /* lines */
    GHashTable *addresses;      /* that the host has: text */
    const char *stuck;          /* an address whose changes fail */
    bool down;                  /* no interface is up */
    bool full;                  /* nothing can be written */
    bool dead;                  /* no VM has a process */
} FakeHost;

FakeHost *fake_host_new(void);
void fake_host_free(FakeHost *f);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(FakeHost, fake_host_free)

/** fake_host_restarted: the next process, with the file and the addresses */
FakeHost *fake_host_restarted(FakeHost *before);

/** fake_host_has: has the host the address? */
bool fake_host_has(const FakeHost *f, const char *addr);

/** fake_host_done: actions since the last call; valid until the next one */
const char *fake_host_done(FakeHost *f);

/** fake_host_logged: lines since the last call; valid until the next one */
const char *fake_host_logged(FakeHost *f);

/**
 * fake_host_ask: send lines of a client; free the answer
 * @peer: the client: NULL: root; else the process of the VM with this UUID
 */
char *fake_host_ask(FakeHost *f, const char *peer, const char *lines);

/** assert_answer: the answer to the lines is @answer */
void assert_answer(FakeHost *f, const char *peer, const char *lines,
                   const char *answer);

#endif /* HOSTD_FIXTURE_H */
