//go:build !linux

package launch

import "github.com/seed-706843ae/harness/pluginsdk"

// strays are found through /proc, on Linux only.
type strays struct{}

func (p *process) glance() (Glance, error) {
	_, err := p.usage()
	return Glance{}, err
}

func (p *process) usage() (Usage, error) {
	return Usage{}, pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "a plugin can be measured on Linux only")
}
