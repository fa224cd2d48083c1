package wire

import (
	"context"
	"encoding/json"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// settingsServer serves the host's Settings.
type settingsServer struct {
	hostv1.UnimplementedSettingsServiceServer
	settings pluginsdk.Settings
}

func (s settingsServer) GetSettings(ctx context.Context, _ *hostv1.GetSettingsRequest) (*hostv1.GetSettingsResponse, error) {
	settings, err := s.settings.Get(ctx)
	return &hostv1.GetSettingsResponse{Settings: settings}, err
}

// settingsClient is the host's Settings as a plugin sees them.
type settingsClient struct {
	client hostv1.SettingsServiceClient
}

func (c settingsClient) Get(ctx context.Context) (json.RawMessage, error) {
	m, err := c.client.GetSettings(ctx, &hostv1.GetSettingsRequest{})
	return m.GetSettings(), err
}
