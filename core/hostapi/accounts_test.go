package hostapi

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// logins are Accounts that remember what they were asked.
type logins struct{ asked []any }

func (l *logins) List(context.Context) ([]pluginsdk.Account, error) {
	return []pluginsdk.Account{{Name: "environment"}, {Name: "work"}}, nil
}

func (l *logins) Add(_ context.Context, who string, request pluginsdk.AddAccountRequest) (pluginsdk.Account, error) {
	l.asked = append(l.asked, who, "add", request.Name)
	return pluginsdk.Account{Name: request.Name}, nil
}

func (l *logins) Update(_ context.Context, who string, request pluginsdk.UpdateAccountRequest) (pluginsdk.Account, error) {
	l.asked = append(l.asked, who, "update", request.Name)
	return pluginsdk.Account{Name: request.Name}, nil
}

func (l *logins) Remove(_ context.Context, who, name string) error {
	l.asked = append(l.asked, who, "remove", name)
	return nil
}

func (l *logins) Rights(_ context.Context, threadID string) (pluginsdk.AgentRights, error) {
	l.asked = append(l.asked, "rights", threadID)
	return pluginsdk.AgentRights{Version: "1"}, nil
}

// Who decides about an account through a plugin is named in the audit log, and nobody else in
// their place: the one whose token the plugin has checked goes before the one that it names.
func TestAccountsAreDecidedInAPersonsName(t *testing.T) {
	f := newFixture()
	asked := &logins{}
	f.api.Accounts = asked
	host := f.api.For("web").Accounts
	ann := pluginsdk.WithPerson(t.Context(), "ann")
	if list, err := host.List(ann, &pluginsdk.ListAccountsRequest{}); err != nil || len(list.Accounts) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if added, err := host.Add(ann, &pluginsdk.AddAccountRequest{Name: "work", Author: "bob"}); err != nil || added.Account.Name != "work" {
		t.Errorf("%+v, %v", added, err)
	}
	if changed, err := host.Update(t.Context(), &pluginsdk.UpdateAccountRequest{Name: "work", Author: "bob"}); err != nil || changed.Account.Name != "work" {
		t.Errorf("%+v, %v", changed, err)
	}
	if _, err := host.Remove(t.Context(), &pluginsdk.RemoveAccountRequest{Name: "work"}); err != nil {
		t.Error(err)
	}
	if rights, err := host.Rights(ann, &pluginsdk.RightsRequest{ThreadID: "T"}); err != nil || rights.Rights.Version != "1" {
		t.Errorf("%+v, %v", rights, err)
	}
	long := strings.Repeat("x", 9<<10)
	for name, err := range map[string]error{
		"a key":   second(host.Add(ann, &pluginsdk.AddAccountRequest{Name: "work", Key: long})),
		"a name":  second(host.Remove(ann, &pluginsdk.RemoveAccountRequest{Name: long})),
		"a patch": second(host.Update(ann, &pluginsdk.UpdateAccountRequest{Name: "work", Patch: pluginsdk.AccountPatch{Key: &long}})),
	} {
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || strings.Contains(err.Error(), "xxxx") {
			t.Errorf("%s that is too long: %v", name, err)
		}
	}
	want := []any{"plugin:web (ann)", "add", "work", "plugin:web (bob)", "update", "work", "plugin:web", "remove", "work", "rights", "T"}
	if !reflect.DeepEqual(asked.asked, want) {
		t.Errorf("asked %v\nwant  %v", asked.asked, want)
	}
}

// Whose money a thread spends is not for every plugin to say.
func TestAnAccountOfAThreadNeedsThreadsAdmin(t *testing.T) {
	account := "work"
	for _, granted := range [][]pluginsdk.Capability{nil, {pluginsdk.CapThreadsAdmin}} {
		f, ctx := newFixture(granted...), t.Context()
		f.api.Accounts = &logins{}
		may := len(granted) > 0
		for name, err := range map[string]error{
			"update": second(f.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: "mine", Patch: pluginsdk.ThreadPatch{Account: &account}})),
			"create": second(f.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: "p", SourceID: "new", Account: account}})),
			"task":   second(f.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Task: pluginsdk.NewTask{ParentThreadID: "mine", Prompt: "x", Account: account}})),
		} {
			if code := pluginsdk.CodeOf(err); may && err != nil || !may && code != pluginsdk.CodeDenied {
				t.Errorf("%s, granted %v: %v", name, granted, err)
			}
		}
	}
}

// The audit log has what was decided: to be refused an account that there is not is none.
func TestAnUnknownAccountIsNotAudited(t *testing.T) {
	f, ctx := newFixture(pluginsdk.CapThreadsAdmin), t.Context()
	f.api.Accounts = &logins{}
	for name, err := range map[string]error{
		"create": second(f.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{Source: "p", SourceID: "new", Account: "wrok"}})),
		"task":   second(f.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Task: pluginsdk.NewTask{ParentThreadID: "mine", Prompt: "x", Account: "wrok"}})),
	} {
		refused(t, name, err, pluginsdk.CodeInvalid, "account:", "there are: environment, work")
	}
	if len(f.store.audits) > 0 {
		t.Errorf("audited %q", f.store.audits)
	}
}
