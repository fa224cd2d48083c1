package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// askers is how many threads have the agent do what nothing allows, and firstAsker the
	// number of the first: far above those that talk. By cast, that one is the courier's.
	askers     = 2
	firstAsker = 899
	// parkAfter is how long the daemon lets a turn wait for people, and parkPatience how
	// long they wait for that.
	parkAfter    = time.Second
	parkPatience = 15 * time.Second
	// thinking is how long people think about an answer at most, in milliseconds.
	thinking = 600
)

// attitude is how people answer what a run asks.
type attitude struct {
	choice string
	rival  string // what another says in the same instant; empty: nobody does
	late   bool   // not before the run is parked
	again  bool   // the deed is the one before
	revoke bool   // the thread's rules are ended first
}

// attitudes are those that every campaign has, of its first asker; further ones are drawn.
var attitudes = []attitude{
	{choice: check.ChoiceAllow, rival: check.ChoiceDeny},
	{choice: check.ChoiceDeny},
	{choice: check.ChoiceRule},
	{choice: check.ChoiceAllow, again: true}, // which nobody is asked about
	{choice: check.ChoiceAllow, again: true, revoke: true, late: true},
}

func attitudeOf(n int, random *rand.Rand) attitude {
	if n <= len(attitudes) {
		return attitudes[n-1]
	}
	a := attitude{
		choice: check.ChoiceAllow, late: random.IntN(5) == 0, again: random.IntN(4) == 0, revoke: random.IntN(2) == 0,
	}
	switch r := random.IntN(20); {
	case r < 6:
		a.choice = check.ChoiceDeny
	case r < 8:
		a.choice = check.ChoiceRule
	}
	if random.IntN(3) == 0 {
		a.rival = check.ChoiceDeny
	}
	return a
}

// asker is a person who has the agent do deeds that nothing allows, one after the other,
// and who answers what it asks, at times together with somebody else.
type asker struct {
	*talker
	web   *web // the way on which answers go
	least int  // how many deeds are asked for, also when it is quiet before
	deeds int  // how many there are so far, but for those that were asked for again

	mu        sync.Mutex
	decisions []check.Decision
	revoked   []check.Revocation
}

// newAsker opens the door of asker n (from 0).
func newAsker(ctx context.Context, w *world, n int) (*asker, error) {
	t, err := newTalker(ctx, w, firstAsker+n)
	if err != nil {
		return nil, err
	}
	a := &asker{talker: t, web: &web{http: w.http, base: w.url}, least: 1}
	if n == 0 {
		a.least = len(attitudes)
	}
	return a, nil
}

// ask goes on until quiet ends, and has asked for the least by then. What was begun is
// answered until its run is over.
func (a *asker) ask(ctx, quiet context.Context) error {
	for n := 1; n <= a.least || quiet.Err() == nil; n++ {
		how := attitudeOf(n, a.random)
		if how.revoke {
			if err := a.revoke(ctx); err != nil {
				return err
			}
		}
		if !how.again || a.deeds == 0 {
			a.deeds++
		}
		m := a.next(n)
		m.content = fmt.Sprintf("Please answer %s, and do %s.", m.marker, a.deed())
		if err := a.say(ctx, m); err != nil {
			return err
		}
		sent := a.sent[len(a.sent)-1]
		if len(sent.Accepted) == 0 {
			continue // it was refused, which the table shows
		}
		if err := a.attend(ctx, sent.Accepted[0].RunID, how); err != nil {
			return err
		}
		a.world.progress.Add(1)
	}
	return nil
}

// deed names the newest one of the thread.
func (a *asker) deed() string {
	name, _, _ := strings.Cut(a.thread.Name, "-")
	return fmt.Sprintf("a-%s-%04d", name, a.deeds)
}

// attend answers whatever a run asks until it is over.
func (a *asker) attend(ctx context.Context, runID string, how attitude) error {
	for !a.state(ctx, runID).Final() {
		var page struct{ Approvals []pluginsdk.Approval }
		if err := a.read(ctx, "/api/approvals?state=open&run="+runID, &page); err == nil {
			for _, approval := range page.Approvals {
				if err := a.answer(ctx, approval, how); err != nil {
					return err
				}
			}
		}
		if err := pause(ctx, lookPause); err != nil {
			return err
		}
	}
	return nil
}

// answer says what the person thinks of it, and a rival at the same time something else.
func (a *asker) answer(ctx context.Context, approval pluginsdk.Approval, how attitude) error {
	parked := false
	if how.late {
		var err error
		if parked, err = until(ctx, parkPatience, func() bool { return a.state(ctx, approval.RunID) == pluginsdk.RunWaiting }); err != nil {
			return err
		}
	} else if err := pause(ctx, between(a.random, 0, thinking)); err != nil {
		return err
	}
	said := []check.Decision{{ApprovalID: approval.ID, Author: "Ann", Choice: how.choice, Parked: parked}}
	if how.rival != "" {
		said = append(said, check.Decision{ApprovalID: approval.ID, Author: "Bob", Choice: how.rival, Parked: parked})
	}
	times := 1
	if a.random.IntN(4) == 0 {
		times = 2 // as somebody does who missed the answer
	}
	var deciding sync.WaitGroup
	failed := make([]error, len(said))
	for i, decision := range said {
		deciding.Go(func() {
			for range times {
				failed[i] = errors.Join(failed[i], a.decide(ctx, decision))
			}
		})
	}
	deciding.Wait()
	return errors.Join(failed...)
}

// decide hands an answer in until somebody says what became of it. One that nobody has
// heard of yet is recorded, too: it may hold.
func (a *asker) decide(ctx context.Context, d check.Decision) error {
	a.mu.Lock()
	at := len(a.decisions)
	a.decisions = append(a.decisions, d)
	a.mu.Unlock()
	secret, err := a.world.token(ctx, d.Author)
	if err != nil {
		return err
	}
	for {
		var stored pluginsdk.Approval
		status, _, err := a.web.as(secret).post(ctx, "/api/approvals/"+d.ApprovalID+"/decide", map[string]string{"choice": d.Choice}, &stored)
		if err == nil && !again(status) {
			a.mu.Lock()
			a.decisions[at].Status = status
			a.mu.Unlock()
			return nil
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// token has the operator make a token for a person of a name, however long it takes, and returns its
// secret. Without one what they say would be the owner's.
func (w *world) token(ctx context.Context, person string) (string, error) {
	w.tokens.Lock()
	defer w.tokens.Unlock()
	for w.secrets[person] == "" {
		command := exec.CommandContext(ctx, filepath.Join(w.dir, "harness"), "token", "create", person, "--scope", "approve", "--json", "--data", w.data()) //nolint:gosec // our own
		command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home(), "DATABASE_URL=" + w.database.url}
		var made struct{ Secret string }
		output, err := command.Output()
		if err == nil {
			err = json.Unmarshal(output, &made)
		}
		if err == nil && made.Secret != "" {
			w.secrets[person] = made.Secret
			continue
		}
		w.note("no token for %s: %v %s", person, err, output)
		if err := pause(ctx, retryPause); err != nil {
			return "", err
		}
	}
	return w.secrets[person], nil
}

// revoke ends the thread's rules, however long it takes. It is called between runs: no
// call is under way that a rule has allowed.
func (a *asker) revoke(ctx context.Context) error {
	if a.thread.ID == "" {
		return nil // nothing was said in it
	}
	var page struct{ Rules []pluginsdk.ApprovalRule }
	for a.read(ctx, "/api/approvals/rules?thread="+a.thread.ID, &page) != nil {
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
	for _, rule := range page.Rules {
		for {
			request, err := http.NewRequestWithContext(ctx, http.MethodDelete, a.world.url+"/api/approvals/rules/"+rule.ID+"?author=Ann", nil)
			if err != nil {
				return err
			}
			if response, err := a.world.http.Do(request); err == nil {
				_ = response.Body.Close()
				if !again(response.StatusCode) {
					a.revoked = append(a.revoked, check.Revocation{RuleID: rule.ID, Status: response.StatusCode, At: time.Now()})
					break
				}
			}
			if err := pause(ctx, retryPause); err != nil {
				return err
			}
		}
	}
	return nil
}

// read gets what is at a path of the API, once.
func (a *asker) read(ctx context.Context, path string, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.world.url+path, nil)
	if err != nil {
		return err
	}
	response, err := a.world.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %d", path, response.StatusCode)
	}
	return json.NewDecoder(response.Body).Decode(out)
}
