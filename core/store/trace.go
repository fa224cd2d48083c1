package store

import (
	"context"
	"database/sql"
	"runtime"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/core/ledger"
)

// tracedWriter tells of each write.
type tracedWriter struct {
	writer

	dialect string
	trace   func(ledger.Span)
}

func (w tracedWriter) do(ctx context.Context, how durability, f func(context.Context, *tx) error) error {
	span := ledger.Span{Kind: ledger.SpanWrite, Name: storeMethod(), Durable: bool(how), Began: time.Now()}
	err := w.writer.do(ctx, how, func(ctx context.Context, t *tx) error {
		begun, made := time.Now(), &counted{ExecQuerier: t.exec}
		span.Waited = begun.Sub(span.Began)
		err := f(ctx, newTx(w.dialect, made))
		span.Inside, span.Count = time.Since(begun), made.n
		return err
	})
	span.Took = time.Since(span.Began)
	w.trace(span)
	return err
}

// counted counts statements.
type counted struct {
	entsql.ExecQuerier

	n int
}

// ExecContext counts a statement.
func (c *counted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.n++
	return c.ExecQuerier.ExecContext(ctx, query, args...)
}

// QueryContext counts a query.
func (c *counted) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n++
	return c.ExecQuerier.QueryContext(ctx, query, args...)
}

// tracedReads tells of each query, up to its first row.
type tracedReads struct {
	entsql.ExecQuerier

	trace func(ledger.Span)
}

// QueryContext tells of a query.
func (r tracedReads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	span := ledger.Span{Kind: ledger.SpanRead, Name: storeMethod(), Began: time.Now(), Count: 1}
	rows, err := r.ExecQuerier.QueryContext(ctx, query, args...)
	span.Took = time.Since(span.Began)
	r.trace(span)
	return rows, err
}

// storeMethod is the method of Store that was called from outside.
func storeMethod() string {
	pcs := make([]uintptr, 40)
	frames, name := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)]), ""
	for {
		frame, more := frames.Next()
		if _, method, ok := strings.Cut(frame.Function, "store.(*Store)."); ok {
			name, _, _ = strings.Cut(method, ".")
		}
		if !more {
			return name
		}
	}
}
