package pluginsdk

import (
	"context"
	"strings"
	"time"
)

// Tokens is who may call from outside. The core keeps them, hashed: a secret is shown
// once, when it is made.
type Tokens interface {
	// Check returns the token of a secret: CodeDenied when there is none, or it is
	// revoked or over. Needs tokens.check.
	Check(ctx context.Context, request *CheckTokenRequest) (*CheckTokenResponse, error)
	// Exchange makes a session of a token, for a browser: with its name and scopes, and
	// over when it is. A login token is used up by it. CodeDenied as in Check. Needs
	// tokens.check.
	Exchange(ctx context.Context, request *ExchangeTokenRequest) (*ExchangeTokenResponse, error)
	// Create makes a token. Needs tokens.admin.
	Create(ctx context.Context, request *CreateTokenRequest) (*CreateTokenResponse, error)
	// List returns the tokens that are good, oldest first. Needs tokens.admin.
	List(ctx context.Context, request *ListTokensRequest) (*ListTokensResponse, error)
	// Revoke ends a token, and the sessions made of it, at once; one that is gone is no
	// error. Of the session with which the request is made, Needs tokens.check; of others
	// tokens.admin.
	Revoke(ctx context.Context, request *RevokeTokenRequest) (*RevokeTokenResponse, error)
}

// TokenScope is a right: of a token, and of the person who has typed a message.
type TokenScope string

// The scopes. Each has those before it.
const (
	ScopeRead    TokenScope = "read"    // see
	ScopeChat    TokenScope = "chat"    // say something, stop it, change one's threads
	ScopeApprove TokenScope = "approve" // answer the agent's questions, decide on tasks and for all who share a thread
	ScopeWork    TokenScope = "work"    // have work done that runs code: tasks; name files of this machine with @
	ScopeAdmin   TokenScope = "admin"   // all else
)

// cronScope is how the scope of one scheduled job begins; the job's name follows.
const cronScope = "cron:"

// ScopeOfCron returns the scope of a token that may have the scheduled job of that name fire, and nothing
// else: no other scope has it, and it has no other.
func ScopeOfCron(name string) TokenScope { return TokenScope(cronScope + name) }

// Cron returns the name of the scheduled job that the scope is of; empty: it is no such scope.
func (s TokenScope) Cron() string {
	name, ok := strings.CutPrefix(string(s), cronScope)
	if !ok {
		return ""
	}
	return name
}

// Has reports whether a token of this scope may do what needs another. The scope of a scheduled job has none,
// not even itself.
func (s TokenScope) Has(needed TokenScope) bool {
	rank := map[TokenScope]int{ScopeRead: 1, ScopeChat: 2, ScopeApprove: 3, ScopeWork: 4, ScopeAdmin: 5}
	return rank[needed] > 0 && rank[s] >= rank[needed]
}

// TokenKind says what a token is for.
type TokenKind string

// The kinds of token.
const (
	TokenAccess  TokenKind = "access"  // for a program, or to log in with
	TokenSession TokenKind = "session" // of a browser that is logged in
	TokenLogin   TokenKind = "login"   // for one login, within minutes
)

// Token is what is known of a token; its secret is not.
type Token struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"` // whose it is: an author of messages, a name in the audit log
	Kind       TokenKind  `json:"kind"`
	Scope      TokenScope `json:"scope"`
	ParentID   string     `json:"parentId,omitempty"` // the token that a session was made of
	CreatedBy  string     `json:"createdBy,omitempty"`
	CreatedAt  time.Time  `json:"createdAt"`
	ExpiresAt  time.Time  `json:"expiresAt,omitzero"`  // zero: never
	LastUsedAt time.Time  `json:"lastUsedAt,omitzero"` // to the minute
}

// TokenPayload is the payload of EventTokenRevoked: who holds a connection for that token
// ends it. Of each session of a token that is revoked there is one of its own.
type TokenPayload struct {
	ID string `json:"id"`
}

// CheckTokenRequest has the secret.
type CheckTokenRequest struct{ Secret string }

// CheckTokenResponse has its token.
type CheckTokenResponse struct{ Token Token }

// ExchangeTokenRequest has the secret of an access or login token.
type ExchangeTokenRequest struct {
	Secret string
	Life   time.Duration // of the session; 0: 30 days
}

// ExchangeTokenResponse has the session and its secret.
type ExchangeTokenResponse struct {
	Token  Token
	Secret string
}

// CreateTokenRequest describes the token.
type CreateTokenRequest struct {
	Name      string
	Kind      TokenKind // access or login; default access
	Scope     TokenScope
	ExpiresAt time.Time // zero: never; a login token's is at most 1 hour away
}

// CreateTokenResponse has the token and its secret, which is not kept.
type CreateTokenResponse struct {
	Token  Token
	Secret string
}

// ListTokensRequest asks for a page of tokens.
type ListTokensRequest struct {
	After string // id of the last token of the page before
	Limit int    // default 100, at most 1000
}

// ListTokensResponse has a page of tokens.
type ListTokensResponse struct{ Tokens []Token }

// RevokeTokenRequest names a token, or has the secret of a session that logs out.
type RevokeTokenRequest struct {
	ID     string
	Secret string
}

// RevokeTokenResponse has nothing to say yet.
type RevokeTokenResponse struct{}

type personKey struct{}

// WithPerson returns a context whose host calls are made in a person's name: what they
// decide stands in the audit log as decided by that person through the plugin. It gives
// no right. A name is one line of characters that can be seen, and has at most 100 bytes: the
// rest is cut.
func WithPerson(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, personKey{}, name)
}

// PersonFrom returns the person in whose name ctx has calls made; empty: nobody.
func PersonFrom(ctx context.Context) string {
	name, _ := ctx.Value(personKey{}).(string)
	return name
}

type tokenKey struct{}

// WithToken returns a context whose host calls are made by who has a token, which is named by
// its id: the core keeps it with what they do. The plugin has shown the token's secret before
// (Tokens.Check), else its calls are CodeDenied; it names no other person than the token's. It
// gives no right.
func WithToken(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, tokenKey{}, id)
}

// TokenFrom returns the id of the token by which ctx has calls made; empty: none.
func TokenFrom(ctx context.Context) string {
	id, _ := ctx.Value(tokenKey{}).(string)
	return id
}
