/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A NIC's security associations (RFC 4301's SAD)
 *
 * Flows name them by numbers, which the controller gives; what comes names
 * them by SPIs. Each number stands for one direction.
 */
#ifndef CVSW_TUNNEL_SAS_H
#define CVSW_TUNNEL_SAS_H

#include "net/esp/esp.h"

#define CVSW_SAS_MAX            4096u

typedef struct CvswSas CvswSas;

CvswSas *cvsw_sas_new(void);

/** cvsw_sas_free: keys are overwritten; NULL is welcome */
void cvsw_sas_free(CvswSas *sas);

typedef enum CvswSasFault {
    CVSW_SAS_OK,
    CVSW_SAS_FULL,              /* CVSW_SAS_MAX */
    CVSW_SAS_SPI_IN_USE,        /* inbound, of another number */
    CVSW_SAS_BAD,               /* esp_sa_new() does not take it */
} CvswSasFault;

/**
 * cvsw_sas_set: make an association, or replace the one of that number
 *
 * The same configuration again changes nothing: numbers and windows go on.
 *
 * @fault: of CVSW_SAS_BAD
 */
CvswSasFault cvsw_sas_set(CvswSas *sas, uint32_t number,
                          const EspSaConfig *config, EspSaFault *fault);

/** cvsw_sas_delete: Returns: false if there is none of that number */
bool cvsw_sas_delete(CvswSas *sas, uint32_t number);

/** cvsw_sas_outbound: that of a number, or NULL if it is none for sealing */
EspSa *cvsw_sas_outbound(CvswSas *sas, uint32_t number);

/**
 * cvsw_sas_inbound: that of an SPI
 * @number: it must be the one of that number; 0: any
 */
EspSa *cvsw_sas_inbound(CvswSas *sas, uint32_t spi, uint32_t number);

unsigned cvsw_sas_count(const CvswSas *sas);

/**
 * cvsw_sas_foreach: all associations, by number
 * @func: gets the configuration, keying material included; must add and
 *        delete none
 */
void cvsw_sas_foreach(CvswSas *sas,
                      void (*func)(uint32_t number, const EspSaConfig *config,
                                   EspSa *sa, void *data),
                      void *data);

#endif /* CVSW_TUNNEL_SAS_H */
