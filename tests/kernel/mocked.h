/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Of the mock, what a test of it uses besides mock.h. */
#ifndef DRY_TESTS_KERNEL_MOCKED_H
#define DRY_TESTS_KERNEL_MOCKED_H

extern unsigned int mock_reports; /* lines of drystone's in the log */
extern unsigned int mock_told;    /* ... of what is known of an object */
extern char mock_text[512];       /* the last line but for what explains a report */
void mock_boot(void);
int mock_initcall_drystone_test(void);
int mock_setup_set_up(char *text); /* of slab_debug= */
int mock_core_initcall_watch_memory(void);
int mock_initcall_start_reap(void);

#endif
