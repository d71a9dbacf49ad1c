/*
 * What machine and system that the probe runs on call their registers, and whose contract holds there.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <snapwalk/snapshot.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * saved          Nonvolatile registers; among them, at FP, the frame pointer.
 * CONTEXT_FLAGS  Where a CONTEXT has its flags.
 * CONTEXT_BYTES  The CLR's CONTEXT there.
 * FLAVOUR        Whose answers the real ones are.
 * LOOKS_AT_SEEDS  Whether it comes to look at the seed for another thread that runs.
 */
#if defined(_WIN32)
#define FLAVOUR SW_FLAVOUR_CORECLR_WINDOWS
enum { LOOKS_AT_SEEDS = true };
#else
#define FLAVOUR SW_FLAVOUR_CORECLR_UNIX
enum { LOOKS_AT_SEEDS = false };
#endif

#if defined(__aarch64__)
static const enum sw_machine machine = SW_MACHINE_ARM64;
enum { SAVED = 11, FP = 10, CONTEXT_FLAGS = 0, CONTEXT_BYTES = 992 };
static const uint8_t saved_numbers[SAVED] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, SW_ARM64_FP };
#elif defined(_WIN32)
static const enum sw_machine machine = SW_MACHINE_X64;
enum { SAVED = 8, FP = 7, CONTEXT_FLAGS = 0x30, CONTEXT_BYTES = 1232 };
static const uint8_t saved_numbers[SAVED] = { SW_X64_RBX, SW_X64_RSI, SW_X64_RDI, SW_X64_R12,
                                              SW_X64_R13, SW_X64_R14, SW_X64_R15, SW_X64_RBP };
#else
static const enum sw_machine machine = SW_MACHINE_X64;
enum { SAVED = 6, FP = 5, CONTEXT_FLAGS = 0x30, CONTEXT_BYTES = 3232 };
static const uint8_t saved_numbers[SAVED] = { SW_X64_RBX, SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15, SW_X64_RBP };
#endif

#endif
