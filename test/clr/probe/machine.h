/*
 * What the machine that the probe runs on calls its registers, for the files that compare them.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <snapwalk/regs.h>

#include <stdint.h>

/*
 * saved          Nonvolatile registers; among them, at FP, the frame pointer.
 * CONTEXT_FLAGS  Where a CONTEXT has its flags.
 * CONTEXT_BYTES  The CLR's CONTEXT on Linux.
 */
#if defined(__aarch64__)
static const enum sw_machine machine = SW_MACHINE_ARM64;
enum { SAVED = 11, FP = 10, CONTEXT_FLAGS = 0, CONTEXT_BYTES = 992 };
static const uint8_t saved_numbers[SAVED] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, SW_ARM64_FP };
#else
static const enum sw_machine machine = SW_MACHINE_X64;
enum { SAVED = 6, FP = 5, CONTEXT_FLAGS = 0x30, CONTEXT_BYTES = 3232 };
static const uint8_t saved_numbers[SAVED] = { SW_X64_RBX, SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15, SW_X64_RBP };
#endif

#endif
