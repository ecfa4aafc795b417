/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: what a native program has of the virtual machine it runs in
 */
#ifndef GUESTLESS_MACHINE_H
#define GUESTLESS_MACHINE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins; under the BQL, when the machine is complete. */
void guestless_machine_start(void);

/*
 * Takes @size octets of the machine's memory, cleared and aligned to a page.
 * They are never given back.  Exits QEMU if there are no more.
 * @gpa: set to their address in the guest
 */
void *guestless_alloc(size_t size, uint64_t *gpa);

/* Accesses of 1, 2, 4 or 8 octets by this vCPU, as after an exit of KVM. */
uint64_t guestless_read(uint64_t gpa, unsigned size);
void guestless_write(uint64_t gpa, unsigned size, uint64_t value);

/* The same of the PCI function @devfn of bus 0 in its configuration space. */
uint32_t guestless_config_read(unsigned devfn, unsigned offset, unsigned size);
void guestless_config_write(unsigned devfn, unsigned offset, unsigned size,
                            uint32_t value);

/* Where the MSI of each vector of each device goes. */
uint64_t guestless_msi_address(void);

/* An eventfd(2), not blocking, that becomes readable with an interrupt. */
int guestless_interrupt_fd(void);

#endif /* GUESTLESS_MACHINE_H */
