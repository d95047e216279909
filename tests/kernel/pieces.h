/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef DRY_TESTS_KERNEL_PIECES_H
#define DRY_TESTS_KERNEL_PIECES_H

#include "mm/slab.h"

/* slab.c */
struct slabinfo info_of(struct kmem_cache *s);
size_t bytes_of(struct kmem_cache *s); /* of its slabs */
void check_accounts(void);

/* pieces.c */
void zero_40(void *object); /* a constructor: of so many bytes */
void test_pieces(void);
void test_grows(bool plain); /* plain: its objects lie one behind the other */
void test_behind(void); /* with letters */
void test_orders(void);

#endif
