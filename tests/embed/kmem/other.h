/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef OTHER_H
#define OTHER_H
#ifdef __cplusplus
extern "C" {
#endif
void other_register(void);
int other_asked(void);
#ifdef __cplusplus
}
#endif
#endif
