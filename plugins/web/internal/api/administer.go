package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is decided about plugins. What needs consent is asked for twice: without a digest it is
// planned; with the digest of that plan it is done, if the plan is still the same.

const (
	installPlugin = "install-plugin"
	upgradePlugin = "upgrade-plugin"
	removePlugin  = "remove-plugin"
	followPlugin  = "follow-plugin"
)

// Package is a plugin's package.
type Package struct {
	Archive   []byte `json:"archive,omitempty" doc:"The .tar.gz, in base64; at most 12 MiB of it: a larger one is put into DATA/uploads"`
	Signature []byte `json:"signature,omitempty" doc:"What minisign has written beside the archive, in base64"`
	Upload    string `json:"upload,omitempty" maxLength:"255" doc:"In place of archive: the name of a file in DATA/uploads, whose signature lies beside it as NAME.minisig"`
	FileID    string `json:"fileId,omitempty" maxLength:"100" doc:"In place of archive: a file of at most 12 MiB that was taken in (POST /api/files), so that it is sent once to be planned and carried out"`

	SignatureFileID string `json:"signatureFileId,omitempty" maxLength:"100" doc:"In place of signature: a file that was taken in"`
}

// What is read of files that were taken in, in bytes: of an archive as much as a message to the
// host carries, of a signature more than one has.
const (
	maxArchive   = 12 << 20
	maxSignature = 64 << 10
)

// contract is the package with the bytes of the files that it names.
func (h *handlers) contract(ctx context.Context, p Package) (pluginsdk.PluginPackage, error) {
	from := pluginsdk.PluginPackage{Archive: p.Archive, Signature: p.Signature, Upload: p.Upload}
	if p.FileID != "" && (len(p.Archive) > 0 || p.Upload != "") {
		return from, invalid("package.fileId", "want one of archive, upload and fileId")
	}
	if p.SignatureFileID != "" && (len(p.Signature) > 0 || p.Upload != "") {
		return from, invalid("package.signatureFileId", "want one of signature and signatureFileId; that of an upload lies beside it")
	}
	var err error
	if p.FileID != "" {
		if from.Archive, err = h.bytesOf(ctx, "package.fileId", p.FileID, maxArchive); err != nil {
			return from, err
		}
	}
	if p.SignatureFileID != "" {
		from.Signature, err = h.bytesOf(ctx, "package.signatureFileId", p.SignatureFileID, maxSignature)
	}
	return from, err
}

// bytesOf reads a file that was taken in, which a field names.
func (h *handlers) bytesOf(ctx context.Context, field, id string, limit int64) ([]byte, error) {
	answer, err := h.host.Files.Get(ctx, &pluginsdk.GetFileRequest{ID: id})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return nil, invalid(field, "there is no such file; send it to "+filesPath+" first")
	case err != nil:
		return nil, h.fail(field, err)
	case answer.File.Size > limit:
		return nil, invalid(field, fmt.Sprintf("%s has %d bytes, and may have %d; a larger archive is put into DATA/uploads and named as upload",
			answer.File.Name, answer.File.Size, limit))
	}
	content := make([]byte, 0, answer.File.Size)
	for int64(len(content)) < answer.File.Size {
		part, err := h.host.Files.Read(ctx, &pluginsdk.ReadFileRequest{ID: id, Offset: int64(len(content))})
		if err != nil {
			return nil, h.fail(field, err)
		}
		if len(part.Data) == 0 {
			return nil, invalid(field, "the file has ended before its end; send it again")
		}
		content = append(content, part.Data...)
	}
	return content, nil
}

// PluginDecision is a plan, and what has come of it.
type PluginDecision struct {
	Plan    pluginsdk.PluginPlan `json:"plan"`
	Outcome *PluginOutcome       `json:"outcome,omitempty" doc:"Absent: it was planned only"`
}

// PluginOutcome is what has become of a plugin.
type PluginOutcome struct {
	Plugin  Plugin                 `json:"plugin" doc:"As it is now; as it was, when it was removed"`
	Changed pluginsdk.PluginRights `json:"changed" doc:"What was granted, or taken back"`
	Missing pluginsdk.PluginRights `json:"missing" doc:"What it asks for and has not been granted"`
}

type installInput struct {
	Body struct {
		Package Package                `json:"package"`
		Grant   []pluginsdk.Capability `json:"grant,omitempty" nullable:"false" maxItems:"100" doc:"What of its wishes it is granted at once"`
		Enable  bool                   `json:"enable,omitempty" doc:"Turn it on at once"`
		Digest  string                 `json:"digest,omitempty" maxLength:"64" doc:"Of the plan that is to be carried out; absent: plan, and change nothing"`
	}
}

type upgradeInput struct {
	Name string `path:"name" maxLength:"100" doc:"The plugin's name"`
	Body struct {
		Package Package                `json:"package"`
		Grant   []pluginsdk.Capability `json:"grant,omitempty" nullable:"false" maxItems:"100" doc:"What of its wishes it is granted beside what it has"`
		Digest  string                 `json:"digest,omitempty" maxLength:"64" doc:"Of the plan that is to be carried out; absent: plan, and change nothing"`
	}
}

type rollbackInput struct {
	Name string `path:"name" maxLength:"100" doc:"The plugin's name"`
	Body struct {
		To     string `json:"to,omitempty" maxLength:"100" doc:"A version, or the beginning of its SHA-256; absent: the one before"`
		Digest string `json:"digest,omitempty" maxLength:"64" doc:"Of the plan that is to be carried out; absent: plan, and change nothing"`
	}
}

type removeInput struct {
	Name string `path:"name" maxLength:"100" doc:"The plugin's name"`
	Body struct {
		KeepState bool   `json:"keepState,omitempty" doc:"Leave its state and secrets for when it is installed again"`
		Digest    string `json:"digest,omitempty" maxLength:"64" doc:"Of the plan that is to be carried out; absent: plan, and change nothing"`
	}
}

type decisionOutput struct{ Body PluginDecision }

type grantInput struct {
	Name string `path:"name" maxLength:"100" doc:"The plugin's name"`
	Body struct {
		Capabilities []pluginsdk.Capability `json:"capabilities" nullable:"false" minItems:"1" maxItems:"100"`
	}
}

type revokeInput struct {
	Name string `path:"name" maxLength:"100" doc:"The plugin's name"`
	Body pluginsdk.PluginRights
}

// LimitsChange says which limits of a plugin change. 0 is the default, a negative number no limit.
type LimitsChange struct {
	MemoryBytes    *int64 `json:"memoryBytes,omitempty" doc:"Of all its processes together"`
	CPUPercent     *int   `json:"cpuPercent,omitempty" doc:"Of one core"`
	Processes      *int   `json:"processes,omitempty"`
	OpenFiles      *int   `json:"openFiles,omitempty" doc:"Of each process"`
	CallsPerMinute *int   `json:"callsPerMinute,omitempty" doc:"Of the core"`
	RowsPerMinute  *int   `json:"rowsPerMinute,omitempty" doc:"Stored"`
	BytesPerMinute *int64 `json:"bytesPerMinute,omitempty" doc:"Stored"`
	StoredBytes    *int64 `json:"storedBytes,omitempty" doc:"In all"`
}

type limitsInput struct {
	Name string `path:"name" maxLength:"100" doc:"The plugin's name"`
	Body LimitsChange
}

type outcomeOutput struct{ Body PluginOutcome }

type orderInput struct {
	Body struct {
		Name   string   `json:"name,omitempty" maxLength:"100" doc:"The plugin that is moved, with one of before and after"`
		Before string   `json:"before,omitempty" maxLength:"100"`
		After  string   `json:"after,omitempty" maxLength:"100"`
		Names  []string `json:"names,omitempty" nullable:"false" maxItems:"1000" doc:"In place of name: plugins that get this order among the places that they have"`
	}
}

type orderOutput struct {
	Body struct {
		Order []string `json:"order" nullable:"false" doc:"All plugins, in the order that holds now"`
	}
}

type followOutput struct {
	Body struct {
		Plugin   Plugin                   `json:"plugin"`
		Standing pluginsdk.PluginStanding `json:"standing" enum:"off,pending,serves,refused,rejected,down,wrong" doc:"How far the daemon has come with what was decided"`
	}
}

func (h *handlers) registerAdministration(api huma.API) {
	decide := func(id, path, summary string) huma.Operation {
		return needs(pluginsdk.ScopeAdmin, post(id, path, summary, http.StatusOK))
	}
	huma.Register(api, decide(installPlugin, "/api/plugins", "Install a plugin: plan it, or do what was planned"), h.installPlugin)
	huma.Register(api, decide(upgradePlugin, "/api/plugins/{name}/upgrade", "Replace a plugin by another version: plan it, or do what was planned"), h.upgradePlugin)
	huma.Register(api, decide("rollback-plugin", "/api/plugins/{name}/rollback", "Go back to an earlier version: plan it, or do what was planned"), h.rollbackPlugin)
	huma.Register(api, decide(removePlugin, "/api/plugins/{name}/remove", "Remove a plugin: plan it, or do what was planned"), h.removePlugin)
	huma.Register(api, decide("grant-plugin", "/api/plugins/{name}/grant", "Grant a plugin what it asks for"), h.grantPlugin)
	huma.Register(api, decide("revoke-plugin", "/api/plugins/{name}/revoke", "Take back what a plugin was granted"), h.revokePlugin)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, patch("limit-plugin", "/api/plugins/{name}/limits", "Change what a plugin may use")), h.limitPlugin)
	huma.Register(api, decide("order-plugins", "/api/plugins/order", "Change the order in which plugins are asked"), h.orderPlugins)
	huma.Register(api, needs(pluginsdk.ScopeRead, get(followPlugin, "/api/plugins/{name}/follow", "Wait until what was decided of a plugin is carried out, 30 s at most")), h.followPlugin)
}

// decided is the answer to what was planned or done.
func (h *handlers) decided(operation string, plan pluginsdk.PluginPlan, outcome *pluginsdk.PluginOutcome, err error) (*decisionOutput, error) {
	if err != nil {
		return nil, h.fail(operation, err)
	}
	output := &decisionOutput{Body: PluginDecision{Plan: plan}}
	if outcome != nil {
		told := outcomeOf(*outcome)
		output.Body.Outcome = &told
	}
	return output, nil
}

func outcomeOf(outcome pluginsdk.PluginOutcome) PluginOutcome {
	return PluginOutcome{Plugin: pluginOf(outcome.Plugin), Changed: outcome.Changed, Missing: outcome.Missing}
}

func (h *handlers) installPlugin(ctx context.Context, input *installInput) (*decisionOutput, error) {
	from, err := h.contract(ctx, input.Body.Package)
	if err != nil {
		return nil, err
	}
	answer, err := h.host.Plugins.Install(ctx, &pluginsdk.InstallPluginRequest{
		Package: from, Grant: input.Body.Grant, Enable: input.Body.Enable, Digest: input.Body.Digest,
	})
	if err != nil {
		return nil, h.fail(installPlugin, err)
	}
	return h.decided(installPlugin, answer.Plan, answer.Outcome, nil)
}

func (h *handlers) upgradePlugin(ctx context.Context, input *upgradeInput) (*decisionOutput, error) {
	from, err := h.contract(ctx, input.Body.Package)
	if err != nil {
		return nil, err
	}
	answer, err := h.host.Plugins.Upgrade(ctx, &pluginsdk.UpgradePluginRequest{
		Name: input.Name, Package: from, Grant: input.Body.Grant, Digest: input.Body.Digest,
	})
	if err != nil {
		return nil, h.fail(upgradePlugin, err)
	}
	return h.decided(upgradePlugin, answer.Plan, answer.Outcome, nil)
}

func (h *handlers) rollbackPlugin(ctx context.Context, input *rollbackInput) (*decisionOutput, error) {
	answer, err := h.host.Plugins.Rollback(ctx, &pluginsdk.RollbackPluginRequest{Name: input.Name, To: input.Body.To, Digest: input.Body.Digest})
	if err != nil {
		return nil, h.fail("rollback-plugin", err)
	}
	return h.decided("rollback-plugin", answer.Plan, answer.Outcome, nil)
}

func (h *handlers) removePlugin(ctx context.Context, input *removeInput) (*decisionOutput, error) {
	answer, err := h.host.Plugins.Remove(ctx, &pluginsdk.RemovePluginRequest{Name: input.Name, KeepState: input.Body.KeepState, Digest: input.Body.Digest})
	if err != nil {
		return nil, h.fail(removePlugin, err)
	}
	return h.decided(removePlugin, answer.Plan, answer.Outcome, nil)
}

func (h *handlers) grantPlugin(ctx context.Context, input *grantInput) (*outcomeOutput, error) {
	answer, err := h.host.Plugins.Grant(ctx, &pluginsdk.GrantPluginRequest{Name: input.Name, Capabilities: input.Body.Capabilities})
	if err != nil {
		return nil, h.fail("grant-plugin", err)
	}
	return &outcomeOutput{Body: outcomeOf(answer.Outcome)}, nil
}

func (h *handlers) revokePlugin(ctx context.Context, input *revokeInput) (*outcomeOutput, error) {
	answer, err := h.host.Plugins.Revoke(ctx, &pluginsdk.RevokePluginRequest{Name: input.Name, Rights: input.Body})
	if err != nil {
		return nil, h.fail("revoke-plugin", err)
	}
	return &outcomeOutput{Body: outcomeOf(answer.Outcome)}, nil
}

func (h *handlers) limitPlugin(ctx context.Context, input *limitsInput) (*outcomeOutput, error) {
	answer, err := h.host.Plugins.SetLimits(ctx, &pluginsdk.SetPluginLimitsRequest{Name: input.Name, Patch: pluginsdk.PluginLimitsPatch(input.Body)})
	if err != nil {
		return nil, h.fail("limit-plugin", err)
	}
	return &outcomeOutput{Body: outcomeOf(answer.Outcome)}, nil
}

func (h *handlers) orderPlugins(ctx context.Context, input *orderInput) (*orderOutput, error) {
	answer, err := h.host.Plugins.Order(ctx, &pluginsdk.OrderPluginsRequest{
		Name: input.Body.Name, Before: input.Body.Before, After: input.Body.After, Names: input.Body.Names,
	})
	if err != nil {
		return nil, h.fail("order-plugins", err)
	}
	output := &orderOutput{}
	output.Body.Order = list(answer.Order)
	return output, nil
}

func (h *handlers) followPlugin(ctx context.Context, input *pluginInput) (*followOutput, error) {
	answer, err := h.host.Plugins.Follow(ctx, &pluginsdk.FollowPluginRequest{Name: input.Name})
	if err != nil {
		return nil, h.fail(followPlugin, err)
	}
	output := &followOutput{}
	output.Body.Plugin, output.Body.Standing = pluginOf(answer.Plugin), answer.Standing
	return output, nil
}
