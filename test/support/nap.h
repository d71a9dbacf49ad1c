/* Waiting for others. */
#ifndef TEST_SUPPORT_NAP_H
#define TEST_SUPPORT_NAP_H

/* At least so long; nothing may depend on how much longer. */
void nap(long microseconds);

#endif
