// Has exit(3) wait for the threads between wb_begin_work() and wb_end_work(). To be called once.
#ifndef WB_EXIT_GATE_H
#define WB_EXIT_GATE_H

void wb_set_up_exit_gate(void);

#endif
