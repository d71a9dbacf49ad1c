/*
 * Between the single-step test and the code that it steps (step_work.c, step_work.cc), which is built at several levels
 * of optimisation.
 */
#ifndef TEST_WINDOWS_STEP_H
#define TEST_WINDOWS_STEP_H

#ifdef __cplusplus
extern "C" {
#endif

/* From its return on each instruction of this program is looked at; until disarm, or an exception or longjmp. */
void arm(void);
void disarm(void);

void work_in_c(unsigned seed);
void work_in_cc(unsigned seed);

#ifdef __cplusplus
}
#endif

#endif
