/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The security associations of a NIC (the SAD of RFC 4301)
 *
 * Flows refer to an association by a number that the controller chooses;
 * received packets refer to it by SPI.  Each number stands for one direction.
 */
#ifndef CVSW_TUNNEL_SAS_H
#define CVSW_TUNNEL_SAS_H

#include "net/esp/esp.h"

#define CVSW_SAS_MAX            4096u

typedef struct CvswSas CvswSas;

CvswSas *cvsw_sas_new(void);

/** cvsw_sas_free: free and overwrite the keys; @sas may be NULL */
void cvsw_sas_free(CvswSas *sas);

typedef enum CvswSasFault {
    CVSW_SAS_OK,
    CVSW_SAS_FULL,              /* there are CVSW_SAS_MAX associations */
    CVSW_SAS_SPI_IN_USE,        /* another inbound association has the SPI */
    CVSW_SAS_BAD,               /* esp_sa_new() refused the configuration */
} CvswSasFault;

/**
 * cvsw_sas_set: create an association, or replace the one with that number
 * @fault: set with CVSW_SAS_BAD
 *
 * Setting the same configuration again changes nothing: sequence numbers and
 * replay window continue.
 */
CvswSasFault cvsw_sas_set(CvswSas *sas, uint32_t number,
                          const EspSaConfig *config, EspSaFault *fault);

/** cvsw_sas_delete: delete. Returns: false if there is none with that number */
bool cvsw_sas_delete(CvswSas *sas, uint32_t number);

/** cvsw_sas_outbound: find an outbound association by number, or NULL */
EspSa *cvsw_sas_outbound(CvswSas *sas, uint32_t number);

/**
 * cvsw_sas_inbound: find an inbound association by SPI, or NULL
 * @number: number that it must have; 0: any
 */
EspSa *cvsw_sas_inbound(CvswSas *sas, uint32_t spi, uint32_t number);

unsigned cvsw_sas_count(const CvswSas *sas);

/**
 * cvsw_sas_foreach: call @func for all associations, ordered by number
 * @func: gets the configuration with its keying material; must not add or
 *        delete associations
 */
void cvsw_sas_foreach(CvswSas *sas,
                      void (*func)(uint32_t number, const EspSaConfig *config,
                                   EspSa *sa, void *data),
                      void *data);

#endif /* CVSW_TUNNEL_SAS_H */
