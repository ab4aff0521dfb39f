// The functions of libpq for WaybillPostgres, without blocking calls except where stated.
//
// Without the trait Shared, only these declarations exist, and nothing calls them. Therefore this header does not
// include libpq-fe.h: a Swift module that imports it does not see the defines of this target.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h> // not in the module Glibc

#pragma clang assume_nonnull begin

// MARK: Connection

// A connection (PGconn), used by one thread at a time.
typedef struct wb_pg wb_pg;
// The results of a statement (PGresult).
typedef struct wb_pg_result wb_pg_result;

// The parts of a URL or of a string of keywords, or NULL if it is invalid. Must be freed.
typedef struct wb_pg_parts wb_pg_parts;
wb_pg_parts *_Nullable wb_pg_parse(const char *text);
// The value of a keyword, or NULL.
const char *_Nullable wb_pg_part(const wb_pg_parts *parts, const char *keyword);
void wb_pg_parts_free(wb_pg_parts *parts);

enum {
    wb_pg_failed = -1,
    wb_pg_done = 0,
    wb_pg_wants_read = 1,
    wb_pg_wants_write = 2,
};

// Starts to connect. The lists end with NULL; a keyword `dbname` may hold a URL, whose parts override the keywords before
// it. Looking up a host name blocks. Returns NULL without memory.
wb_pg *_Nullable wb_pg_start(const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values);
// Continues to connect; the socket may be another one afterwards. Once connected, pipelines are enabled.
int32_t wb_pg_connect(wb_pg *connection);
int32_t wb_pg_socket(const wb_pg *connection);
int32_t wb_pg_process(const wb_pg *connection); // the process ID of the backend
// The message of the last failure, with the SQLSTATE as text if the server sent one.
const char *wb_pg_message(const wb_pg *connection);
void wb_pg_close(wb_pg *connection);

// Asks the server, on a connection of its own, to cancel the running statement. Blocks.
typedef struct wb_pg_cancellation wb_pg_cancellation;
wb_pg_cancellation *_Nullable wb_pg_cancellation_make(wb_pg *connection);
void wb_pg_cancel(wb_pg_cancellation *cancellation); // frees it, too

// MARK: Sending. These return 1, or 0 on a failure.

int32_t wb_pg_prepare(wb_pg *connection, const char *name, const char *sql, int32_t count, const uint32_t *types);
enum { wb_pg_max_parameters = 64 };
// Performs a prepared statement. The parameters are binary, one after the other; a length of -1 is a null.
int32_t wb_pg_run_prepared(wb_pg *connection, const char *name, int32_t count, const uint8_t *bytes,
                           const int32_t *lengths);
// Performs a statement that is not prepared.
int32_t wb_pg_run(wb_pg *connection, const char *sql, int32_t count, const uint32_t *types, const uint8_t *bytes,
                  const int32_t *lengths);
int32_t wb_pg_sync(wb_pg *connection);
// Sends what the socket accepts: wb_pg_done, wb_pg_wants_write or wb_pg_failed.
int32_t wb_pg_flush(wb_pg *connection);

// MARK: Receiving

int32_t wb_pg_receive(wb_pg *connection); // reads what has arrived; 0 on a failure
int32_t wb_pg_is_busy(wb_pg *connection); // whether the next result is incomplete
wb_pg_result *_Nullable wb_pg_next(wb_pg *connection);

enum {
    wb_pg_rows = 0,    // rows, or none
    wb_pg_error = 1,   // the server rejected the statement
    wb_pg_aborted = 2, // not performed, because a statement before it failed
    wb_pg_synced = 3,  // the end of a pipeline
};

int32_t wb_pg_result_kind(const wb_pg_result *result);
int32_t wb_pg_row_count(const wb_pg_result *result);
int32_t wb_pg_column_count(const wb_pg_result *result);
uint32_t wb_pg_column_type(const wb_pg_result *result, int32_t column);
// A value in binary format, or NULL for a null. It belongs to the result.
const uint8_t *_Nullable wb_pg_value(const wb_pg_result *result, int32_t row, int32_t column, int32_t *count);
const char *wb_pg_tag(const wb_pg_result *result); // the command and the number of rows
enum {
    wb_pg_sqlstate = 0,
    wb_pg_primary = 1,    // the message
    wb_pg_constraint = 2, // the violated constraint
    wb_pg_function = 3,   // the function in the server's source
};
const char *_Nullable wb_pg_error_field(const wb_pg_result *result, int32_t field);
void wb_pg_result_free(wb_pg_result *result);

typedef struct wb_pg_notification wb_pg_notification;
// The next notification that has arrived, or NULL. Must be freed.
wb_pg_notification *_Nullable wb_pg_notified(wb_pg *connection);
const char *wb_pg_notification_channel(const wb_pg_notification *notification);
const char *wb_pg_notification_payload(const wb_pg_notification *notification);
void wb_pg_notification_free(wb_pg_notification *notification);

#pragma clang assume_nonnull end
