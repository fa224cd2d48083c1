package main

import (
	"errors"
	"fmt"
	"time"
)

// rounds is how often the two builds take turns: what the machine does beside them
// falls on both.
const rounds = 20

// beside measures turns of this build and of another one (its directory has harness
// and plugins/), in alternation.
func (b *bench) beside() error {
	if b.other == "" {
		b.row("beside another build", "left out: -beside DIR names the other one's directory")
		return nil
	}
	for _, database := range b.databases() {
		if err := b.besideOn(database); err != nil {
			return err
		}
	}
	return nil
}

// build is one of the two, at work on a database of its own.
type build struct {
	name     string
	at       *installation
	sequence *sequence
	drop     func() error // the database
	times    []time.Duration
	rates    []float64
	cpu      float64 // of all its processes, for the turns of times, in ms
	switches float64
}

func begin(name, bin string, database database) (*build, error) {
	empty, drop, err := database.fresh()
	if err != nil {
		return nil, err
	}
	one := &build{name: name, drop: drop}
	if one.at, err = startFrom(bin, append(empty.env, "HARNESS_AGENTS=32")); err != nil {
		return nil, errors.Join(err, drop())
	}
	if one.sequence, err = one.at.sequence(); err == nil {
		err = one.sequence.turns(warmUp)
	}
	if err != nil {
		return nil, errors.Join(err, one.end())
	}
	return one, nil
}

func (o *build) end() error {
	if o.sequence != nil {
		o.sequence.close()
	}
	return errors.Join(o.at.stop(), o.drop())
}

func (b *bench) besideOn(database database) (err error) {
	other, err := begin("other", b.other, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.end()) }()
	this, err := begin("this", b.bin, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, this.end()) }()
	builds := []*build{other, this}
	for round := range rounds {
		for n := range builds {
			one := builds[(n+round)%len(builds)]
			one.sequence.times = stopwatch{}
			used, err := one.at.meter()
			if err != nil {
				return err
			}
			n := b.turns / rounds * 2
			if err := one.sequence.turns(n); err != nil {
				return err
			}
			all := used.perTurn(1)[0]
			one.cpu, one.switches = one.cpu+all.CPU, one.switches+all.Switches
			one.times = append(one.times, one.sequence.times.committed...)
		}
	}
	for round := range rounds / 4 {
		for n := range builds {
			one, began := builds[(n+round)%len(builds)], time.Now()
			rate, err := one.at.flood(8, func() bool { return time.Since(began) < b.load/3 })
			if err != nil {
				return err
			}
			one.rates = append(one.rates, rate)
		}
	}
	for _, one := range builds {
		b.row(fmt.Sprintf("%s, %s: POST -> reply committed", database.name, one.name), "%s", spread(one.times))
	}
	for _, one := range builds {
		turns := float64(len(one.times))
		b.row(fmt.Sprintf("%s, %s: a turn's CPU and context switches", database.name, one.name), "%.2f ms, %.0f", one.cpu/turns, one.switches/turns)
	}
	b.note(figureCPUBeside(database.name), this.cpu/other.cpu, "of it")
	b.note(figureBeside(database.name), float64(quantile(this.times, 0.5))/float64(quantile(other.times, 0.5)), "of it")
	b.row(database.name+": this to other, CPU", "%.2f", this.cpu/other.cpu)
	b.row(database.name+": this to other, p50", "%.2f", float64(quantile(this.times, 0.5))/float64(quantile(other.times, 0.5)))
	b.row(database.name+": 8 threads, other and this", "%.0f and %.0f turns/s", mean(other.rates), mean(this.rates))
	return nil
}

func mean(values []float64) (sum float64) {
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}
