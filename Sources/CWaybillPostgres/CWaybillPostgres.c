#ifdef WAYBILL_SHARED

#include "CWaybillPostgres.h"

#include <stdlib.h>
#include <string.h>

// Debian has its own directory for the headers of PostgreSQL.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

// The opaque types of our header are those of libpq.
#define CONNECTION(pointer) ((PGconn *)(uintptr_t)(pointer))
#define RESULT(pointer) ((PGresult *)(uintptr_t)(pointer))
#define NOTIFICATION(pointer) ((PGnotify *)(uintptr_t)(pointer))

// MARK: Connection

wb_pg_parts *wb_pg_parse(const char *text) {
    return (wb_pg_parts *)PQconninfoParse(text, NULL);
}

const char *wb_pg_part(const wb_pg_parts *parts, const char *keyword) {
    for (const PQconninfoOption *option = (const PQconninfoOption *)parts; option->keyword; option++)
        if (strcmp(option->keyword, keyword) == 0) return option->val;
    return NULL;
}

void wb_pg_parts_free(wb_pg_parts *parts) { PQconninfoFree((PQconninfoOption *)parts); }

static void ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}

wb_pg *wb_pg_start(const char *const *keywords, const char *const *values) {
    PGconn *connection = PQconnectStartParams(keywords, values, 1);
    if (!connection) return NULL;
    // While connecting, libpq passes on the SQLSTATE in the message only.
    PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
    // libpq would print notices to the standard error.
    PQsetNoticeReceiver(connection, ignore_notice, NULL);
    return (wb_pg *)connection;
}

int32_t wb_pg_connect(wb_pg *self) {
    PGconn *connection = CONNECTION(self);
    if (PQstatus(connection) == CONNECTION_BAD) return wb_pg_failed;
    switch (PQconnectPoll(connection)) {
    case PGRES_POLLING_READING: return wb_pg_wants_read;
    case PGRES_POLLING_WRITING: return wb_pg_wants_write;
    case PGRES_POLLING_OK:
        return PQsetnonblocking(connection, 1) == 0 && PQenterPipelineMode(connection) ? wb_pg_done : wb_pg_failed;
    default: return wb_pg_failed;
    }
}

int32_t wb_pg_socket(const wb_pg *self) { return PQsocket(CONNECTION(self)); }
int32_t wb_pg_process(const wb_pg *self) { return PQbackendPID(CONNECTION(self)); }
const char *wb_pg_message(const wb_pg *self) { return PQerrorMessage(CONNECTION(self)); }
void wb_pg_close(wb_pg *self) { PQfinish(CONNECTION(self)); }

wb_pg_cancellation *wb_pg_cancellation_make(wb_pg *self) {
    return (wb_pg_cancellation *)PQgetCancel(CONNECTION(self));
}

void wb_pg_cancel(wb_pg_cancellation *cancellation) {
    char message[256];
    PQcancel((PGcancel *)cancellation, message, sizeof message);
    PQfreeCancel((PGcancel *)cancellation);
}

// MARK: Sending

int32_t wb_pg_prepare(wb_pg *self, const char *name, const char *sql, int32_t count, const uint32_t *types) {
    return PQsendPrepare(CONNECTION(self), name, sql, count, types);
}

typedef struct {
    const char *values[wb_pg_max_parameters];
    int formats[wb_pg_max_parameters];
} parameters;

static int split(parameters *found, int32_t count, const uint8_t *bytes, const int32_t *lengths) {
    if (count > wb_pg_max_parameters) return 0;
    for (int32_t i = 0; i < count; i++) {
        found->values[i] = lengths[i] < 0 ? NULL : (const char *)bytes;
        found->formats[i] = 1;
        if (lengths[i] > 0) bytes += lengths[i];
    }
    return 1;
}

int32_t wb_pg_run_prepared(
    wb_pg *self, const char *name, int32_t count, const uint8_t *bytes, const int32_t *lengths) {
    parameters all;
    return split(&all, count, bytes, lengths) &&
           PQsendQueryPrepared(CONNECTION(self), name, count, all.values, lengths, all.formats, 1);
}

int32_t wb_pg_run(
    wb_pg *self, const char *sql, int32_t count, const uint32_t *types, const uint8_t *bytes, const int32_t *lengths) {
    parameters all;
    return split(&all, count, bytes, lengths) &&
           PQsendQueryParams(CONNECTION(self), sql, count, types, all.values, lengths, all.formats, 1);
}

int32_t wb_pg_sync(wb_pg *self) { return PQpipelineSync(CONNECTION(self)); }

int32_t wb_pg_flush(wb_pg *self) {
    int outcome = PQflush(CONNECTION(self));
    return outcome == 1 ? wb_pg_wants_write : outcome == 0 ? wb_pg_done : wb_pg_failed;
}

// MARK: Receiving

int32_t wb_pg_receive(wb_pg *self) { return PQconsumeInput(CONNECTION(self)); }
int32_t wb_pg_is_busy(wb_pg *self) { return PQisBusy(CONNECTION(self)); }
wb_pg_result *wb_pg_next(wb_pg *self) { return (wb_pg_result *)PQgetResult(CONNECTION(self)); }

int32_t wb_pg_result_kind(const wb_pg_result *self) {
    switch (PQresultStatus(RESULT(self))) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY: return wb_pg_rows;
    case PGRES_PIPELINE_ABORTED: return wb_pg_aborted;
    case PGRES_PIPELINE_SYNC: return wb_pg_synced;
    default: return wb_pg_error;
    }
}

int32_t wb_pg_row_count(const wb_pg_result *self) { return PQntuples(RESULT(self)); }
int32_t wb_pg_column_count(const wb_pg_result *self) { return PQnfields(RESULT(self)); }
uint32_t wb_pg_column_type(const wb_pg_result *self, int32_t column) { return PQftype(RESULT(self), column); }

const uint8_t *wb_pg_value(const wb_pg_result *self, int32_t row, int32_t column, int32_t *count) {
    const PGresult *result = RESULT(self);
    if (PQgetisnull(result, row, column)) return NULL;
    *count = PQgetlength(result, row, column);
    return (const uint8_t *)PQgetvalue(result, row, column);
}

const char *wb_pg_tag(const wb_pg_result *self) { return PQcmdStatus(RESULT(self)); }

const char *wb_pg_error_field(const wb_pg_result *self, int32_t field) {
    static const int codes[] = {
        PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY, PG_DIAG_CONSTRAINT_NAME, PG_DIAG_SOURCE_FUNCTION,
    };
    return PQresultErrorField(RESULT(self), codes[field]);
}

void wb_pg_result_free(wb_pg_result *self) { PQclear(RESULT(self)); }

wb_pg_notification *wb_pg_notified(wb_pg *self) { return (wb_pg_notification *)PQnotifies(CONNECTION(self)); }
const char *wb_pg_notification_channel(const wb_pg_notification *self) { return NOTIFICATION(self)->relname; }
const char *wb_pg_notification_payload(const wb_pg_notification *self) { return NOTIFICATION(self)->extra; }
void wb_pg_notification_free(wb_pg_notification *self) { PQfreemem(NOTIFICATION(self)); }

#endif
