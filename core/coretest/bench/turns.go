package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// stopwatch is the times of a sequence of turns.
type stopwatch struct {
	accepted, committed, complete []time.Duration

	runs  []string    // the turns'
	began []time.Time // by turn
}

// client speaks to the API and knows when runs are over.
type client struct {
	*installation
	http   *http.Client
	socket *websocket.Conn
	mu     sync.Mutex
	over   map[string]time.Time
	waits  map[string]chan struct{}
}

func (d *installation) connect() (*client, error) {
	socket, response, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(d.URL, "http")+"/ws", owner.Header(d.URL))
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	c := &client{
		installation: d, socket: socket, over: make(map[string]time.Time), waits: make(map[string]chan struct{}),
		http: &http.Client{Transport: owner.Transport{Next: &http.Transport{MaxIdleConnsPerHost: 64}}},
	}
	go c.listen()
	return c, nil
}

func (c *client) listen() {
	for {
		_, frame, err := c.socket.ReadMessage()
		if err != nil {
			return
		}
		now := time.Now()
		if !bytes.Contains(frame, []byte(`"pipeline:complete"`)) && !bytes.Contains(frame, []byte(`"pipeline:error"`)) {
			continue
		}
		var event struct{ Data struct{ RunID string } }
		if json.Unmarshal(frame, &event) != nil {
			continue
		}
		c.mu.Lock()
		c.over[event.Data.RunID] = now
		if wait, ok := c.waits[event.Data.RunID]; ok {
			close(wait)
		}
		c.mu.Unlock()
	}
}

// wait returns when the run's last event came.
func (c *client) wait(runID string) (time.Time, error) {
	c.mu.Lock()
	wait, ok := c.waits[runID]
	if !ok {
		wait = make(chan struct{})
		c.waits[runID] = wait
		if _, over := c.over[runID]; over {
			close(wait)
		}
	}
	c.mu.Unlock()
	select {
	case <-wait:
	case <-time.After(time.Minute):
		return time.Time{}, fmt.Errorf("run %s did not end; log:\n%s", runID, c.Log.String())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.over[runID]
	delete(c.over, runID)
	delete(c.waits, runID)
	return at, nil
}

func (c *client) post(path string, body, out any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	response, err := c.http.Post(c.URL+path, "application/json", bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return fmt.Errorf("POST %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(out)
}

// get reads all of an answer.
func (c *client) get(path string) ([]byte, error) {
	response, err := c.http.Get(c.URL + path)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	return body, err
}

func (c *client) run(id string) (run pluginsdk.Run, err error) {
	body, err := c.get("/api/runs/" + id)
	if err != nil {
		return run, err
	}
	return run, json.Unmarshal(body, &run)
}

func (c *client) thread() (string, error) {
	var made struct{ ID string }
	err := c.post("/api/threads", map[string]string{"name": "bench"}, &made)
	return made.ID, err
}

// turn takes one message to its reply.
func (c *client) turn(thread string) (runID string, began, accepted, complete time.Time, err error) {
	began = time.Now()
	if runID, err = c.say(thread, "hello"); err != nil {
		return
	}
	accepted = time.Now()
	complete, err = c.wait(runID)
	return runID, began, accepted, complete, err
}

// say submits a message and returns its run.
func (c *client) say(thread, content string) (runID string, err error) {
	var ids struct{ RunID string }
	err = c.post("/api/chat", map[string]string{"threadId": thread, "content": content}, &ids)
	return ids.RunID, err
}

// warmUp is how many turns are not counted.
const warmUp = 10

// sequence times turns in one thread, one after the other.
type sequence struct {
	client *client
	thread string
	times  stopwatch
}

func (d *installation) sequence() (*sequence, error) {
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	thread, err := c.thread()
	return &sequence{client: c, thread: thread}, err
}

func (s *sequence) close() { _ = s.client.socket.Close() }

func (s *sequence) turns(n int) error {
	for range n {
		runID, began, accepted, complete, err := s.client.turn(s.thread)
		if err != nil {
			return err
		}
		run, err := s.client.run(runID)
		if err != nil {
			return err
		}
		if run.State != pluginsdk.RunSucceeded {
			return fmt.Errorf("run %s is %s: %s", run.ID, run.State, run.Error)
		}
		s.times.runs, s.times.began = append(s.times.runs, runID), append(s.times.began, began)
		s.times.accepted = append(s.times.accepted, accepted.Sub(began))
		s.times.committed = append(s.times.committed, run.FinishedAt.Sub(began))
		s.times.complete = append(s.times.complete, complete.Sub(began))
	}
	return nil
}

// flood keeps a turn under way on each of the threads as long as more says so,
// and returns the rate. more is asked before every turn, by all threads at once.
func (d *installation) flood(threads int, more func() bool) (float64, error) {
	c, err := d.connect()
	if err != nil {
		return 0, err
	}
	defer c.socket.Close()
	var group sync.WaitGroup
	var done atomic.Int64
	var failed atomic.Pointer[error]
	began := time.Now()
	for range threads {
		thread, err := c.thread()
		if err != nil {
			return 0, err
		}
		group.Go(func() {
			for more() {
				if _, _, _, _, err := c.turn(thread); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}

// spread says where times lie.
func spread(times []time.Duration) string {
	slices.Sort(times)
	at := func(q float64) time.Duration { return times[int(q*float64(len(times)-1))].Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, max %v (n=%d)", at(0.5), at(0.99), at(1), len(times))
}

func quantile(times []time.Duration, q float64) time.Duration {
	slices.Sort(times)
	return times[int(q*float64(len(times)-1))]
}
