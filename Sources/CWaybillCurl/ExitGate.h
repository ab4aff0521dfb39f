// Makes exit(3) wait for threads between wb_begin_work() and wb_end_work(). Call once.
#ifndef WB_EXIT_GATE_H
#define WB_EXIT_GATE_H

void wb_set_up_exit_gate(void);

#endif
