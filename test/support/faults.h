/*
 * A thread whose stack lies in memory of a userfaultfd, whose faults another thread of the same process handles.
 */
#ifndef SW_TEST_SUPPORT_FAULTS_H
#define SW_TEST_SUPPORT_FAULTS_H

#include <stdbool.h>

/* Starts both threads; run is given the lowest address of its stack. False: the system has no such memory for us. */
bool start_over_faults(void *(*run)(void *stack));

#endif
