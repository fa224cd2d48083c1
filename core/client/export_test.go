package client

import "time"

// Hurry makes a client try again at once.
func (c *Client) Hurry() *Client {
	c.firstPause, c.longestPause = time.Millisecond, 5*time.Millisecond
	c.poll, c.slowPoll = time.Millisecond, time.Hour
	return c
}
