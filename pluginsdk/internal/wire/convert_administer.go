package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func pluginRightsTo(v pluginsdk.PluginRights) *typesv1.PluginRights {
	return &typesv1.PluginRights{
		Capabilities: namesTo(v.Capabilities),
		Env:          v.Env,
	}
}

func pluginRightsFrom(m *typesv1.PluginRights) pluginsdk.PluginRights {
	return pluginsdk.PluginRights{
		Capabilities: namesFrom[pluginsdk.Capability](m.GetCapabilities()),
		Env:          m.GetEnv(),
	}
}

func pluginVersionTo(v pluginsdk.PluginVersion) *typesv1.PluginVersion {
	return &typesv1.PluginVersion{
		Version:   v.Version,
		Sha256:    v.SHA256,
		Publisher: v.Publisher,
		Manifest:  manifestTo(v.Manifest),
	}
}

func pluginVersionFrom(m *typesv1.PluginVersion) pluginsdk.PluginVersion {
	return pluginsdk.PluginVersion{
		Version:   m.GetVersion(),
		SHA256:    m.GetSha256(),
		Publisher: m.GetPublisher(),
		Manifest:  manifestFrom(m.GetManifest()),
	}
}

func pluginPackageInfoTo(v pluginsdk.PluginPackageInfo) *typesv1.PluginPackageInfo {
	return &typesv1.PluginPackageInfo{
		Executable: v.Executable,
		Files:      int64(v.Files),
		Bytes:      v.Bytes,
		Signed:     v.Signed,
		KeyId:      v.KeyID,
		Trusted:    v.Trusted,
		Comment:    v.Comment,
	}
}

func pluginPackageInfoFrom(m *typesv1.PluginPackageInfo) pluginsdk.PluginPackageInfo {
	return pluginsdk.PluginPackageInfo{
		Executable: m.GetExecutable(),
		Files:      int(m.GetFiles()),
		Bytes:      m.GetBytes(),
		Signed:     m.GetSigned(),
		KeyID:      m.GetKeyId(),
		Trusted:    m.GetTrusted(),
		Comment:    m.GetComment(),
	}
}

func pluginPlanTo(v pluginsdk.PluginPlan) *typesv1.PluginPlan {
	return &typesv1.PluginPlan{
		Digest:   v.Digest,
		Action:   string(v.Action),
		Name:     v.Name,
		Was:      pluginVersionTo(v.Was),
		Next:     pluginVersionTo(v.Next),
		Package:  pluginPackageInfoTo(v.Package),
		Has:      pluginRightsTo(v.Has),
		Wants:    pluginRightsTo(v.Wants),
		MayGrant: namesTo(v.MayGrant),
		Idle:     v.Idle,
	}
}

func pluginPlanFrom(m *typesv1.PluginPlan) pluginsdk.PluginPlan {
	return pluginsdk.PluginPlan{
		Digest:   m.GetDigest(),
		Action:   pluginsdk.PluginAction(m.GetAction()),
		Name:     m.GetName(),
		Was:      pluginVersionFrom(m.GetWas()),
		Next:     pluginVersionFrom(m.GetNext()),
		Package:  pluginPackageInfoFrom(m.GetPackage()),
		Has:      pluginRightsFrom(m.GetHas()),
		Wants:    pluginRightsFrom(m.GetWants()),
		MayGrant: namesFrom[pluginsdk.Capability](m.GetMayGrant()),
		Idle:     m.GetIdle(),
	}
}

func pluginOutcomeTo(v pluginsdk.PluginOutcome) *typesv1.PluginOutcome {
	return &typesv1.PluginOutcome{
		Plugin:  pluginInfoTo(v.Plugin),
		Changed: pluginRightsTo(v.Changed),
		Missing: pluginRightsTo(v.Missing),
	}
}

func pluginOutcomeFrom(m *typesv1.PluginOutcome) pluginsdk.PluginOutcome {
	return pluginsdk.PluginOutcome{
		Plugin:  pluginInfoFrom(m.GetPlugin()),
		Changed: pluginRightsFrom(m.GetChanged()),
		Missing: pluginRightsFrom(m.GetMissing()),
	}
}

func pluginLimitsPatchTo(v pluginsdk.PluginLimitsPatch) *typesv1.PluginLimitsPatch {
	return &typesv1.PluginLimitsPatch{
		MemoryBytes:    v.MemoryBytes,
		CpuPercent:     numberTo(v.CPUPercent),
		Processes:      numberTo(v.Processes),
		OpenFiles:      numberTo(v.OpenFiles),
		CallsPerMinute: numberTo(v.CallsPerMinute),
		RowsPerMinute:  numberTo(v.RowsPerMinute),
		BytesPerMinute: v.BytesPerMinute,
		StoredBytes:    v.StoredBytes,
	}
}

func pluginLimitsPatchFrom(m *typesv1.PluginLimitsPatch) pluginsdk.PluginLimitsPatch {
	if m == nil { // its optional fields have no nil-safe getters
		return pluginsdk.PluginLimitsPatch{}
	}
	return pluginsdk.PluginLimitsPatch{
		MemoryBytes:    m.MemoryBytes,
		CPUPercent:     numberFrom(m.CpuPercent),
		Processes:      numberFrom(m.Processes),
		OpenFiles:      numberFrom(m.OpenFiles),
		CallsPerMinute: numberFrom(m.CallsPerMinute),
		RowsPerMinute:  numberFrom(m.RowsPerMinute),
		BytesPerMinute: m.BytesPerMinute,
		StoredBytes:    m.StoredBytes,
	}
}

// numberTo and numberFrom keep a number that is not set apart from 0.
func numberTo(n *int) *int64 {
	if n == nil {
		return nil
	}
	wide := int64(*n)
	return &wide
}

func numberFrom(n *int64) *int {
	if n == nil {
		return nil
	}
	narrow := int(*n)
	return &narrow
}

func pluginPackageTo(v pluginsdk.PluginPackage) *hostv1.PluginPackage {
	return &hostv1.PluginPackage{
		Archive:   v.Archive,
		Signature: v.Signature,
		Upload:    v.Upload,
	}
}

func pluginPackageFrom(m *hostv1.PluginPackage) pluginsdk.PluginPackage {
	return pluginsdk.PluginPackage{
		Archive:   m.GetArchive(),
		Signature: m.GetSignature(),
		Upload:    m.GetUpload(),
	}
}

func installPluginRequestTo(v pluginsdk.InstallPluginRequest) *hostv1.InstallPluginRequest {
	return &hostv1.InstallPluginRequest{
		Package: pluginPackageTo(v.Package),
		Grant:   namesTo(v.Grant),
		Enable:  v.Enable,
		Digest:  v.Digest,
	}
}

func installPluginRequestFrom(m *hostv1.InstallPluginRequest) pluginsdk.InstallPluginRequest {
	return pluginsdk.InstallPluginRequest{
		Package: pluginPackageFrom(m.GetPackage()),
		Grant:   namesFrom[pluginsdk.Capability](m.GetGrant()),
		Enable:  m.GetEnable(),
		Digest:  m.GetDigest(),
	}
}

func installPluginResponseTo(v pluginsdk.InstallPluginResponse) *hostv1.InstallPluginResponse {
	return &hostv1.InstallPluginResponse{
		Plan:    pluginPlanTo(v.Plan),
		Outcome: pointerTo(v.Outcome, pluginOutcomeTo),
	}
}

func installPluginResponseFrom(m *hostv1.InstallPluginResponse) pluginsdk.InstallPluginResponse {
	return pluginsdk.InstallPluginResponse{
		Plan:    pluginPlanFrom(m.GetPlan()),
		Outcome: pointerFrom(m.GetOutcome(), pluginOutcomeFrom),
	}
}

func upgradePluginRequestTo(v pluginsdk.UpgradePluginRequest) *hostv1.UpgradePluginRequest {
	return &hostv1.UpgradePluginRequest{
		Name:    v.Name,
		Package: pluginPackageTo(v.Package),
		Grant:   namesTo(v.Grant),
		Digest:  v.Digest,
	}
}

func upgradePluginRequestFrom(m *hostv1.UpgradePluginRequest) pluginsdk.UpgradePluginRequest {
	return pluginsdk.UpgradePluginRequest{
		Name:    m.GetName(),
		Package: pluginPackageFrom(m.GetPackage()),
		Grant:   namesFrom[pluginsdk.Capability](m.GetGrant()),
		Digest:  m.GetDigest(),
	}
}

func upgradePluginResponseTo(v pluginsdk.UpgradePluginResponse) *hostv1.UpgradePluginResponse {
	return &hostv1.UpgradePluginResponse{
		Plan:    pluginPlanTo(v.Plan),
		Outcome: pointerTo(v.Outcome, pluginOutcomeTo),
	}
}

func upgradePluginResponseFrom(m *hostv1.UpgradePluginResponse) pluginsdk.UpgradePluginResponse {
	return pluginsdk.UpgradePluginResponse{
		Plan:    pluginPlanFrom(m.GetPlan()),
		Outcome: pointerFrom(m.GetOutcome(), pluginOutcomeFrom),
	}
}

func rollbackPluginRequestTo(v pluginsdk.RollbackPluginRequest) *hostv1.RollbackPluginRequest {
	return &hostv1.RollbackPluginRequest{
		Name:   v.Name,
		To:     v.To,
		Digest: v.Digest,
	}
}

func rollbackPluginRequestFrom(m *hostv1.RollbackPluginRequest) pluginsdk.RollbackPluginRequest {
	return pluginsdk.RollbackPluginRequest{
		Name:   m.GetName(),
		To:     m.GetTo(),
		Digest: m.GetDigest(),
	}
}

func rollbackPluginResponseTo(v pluginsdk.RollbackPluginResponse) *hostv1.RollbackPluginResponse {
	return &hostv1.RollbackPluginResponse{
		Plan:    pluginPlanTo(v.Plan),
		Outcome: pointerTo(v.Outcome, pluginOutcomeTo),
	}
}

func rollbackPluginResponseFrom(m *hostv1.RollbackPluginResponse) pluginsdk.RollbackPluginResponse {
	return pluginsdk.RollbackPluginResponse{
		Plan:    pluginPlanFrom(m.GetPlan()),
		Outcome: pointerFrom(m.GetOutcome(), pluginOutcomeFrom),
	}
}

func removePluginRequestTo(v pluginsdk.RemovePluginRequest) *hostv1.RemovePluginRequest {
	return &hostv1.RemovePluginRequest{
		Name:      v.Name,
		KeepState: v.KeepState,
		Digest:    v.Digest,
	}
}

func removePluginRequestFrom(m *hostv1.RemovePluginRequest) pluginsdk.RemovePluginRequest {
	return pluginsdk.RemovePluginRequest{
		Name:      m.GetName(),
		KeepState: m.GetKeepState(),
		Digest:    m.GetDigest(),
	}
}

func removePluginResponseTo(v pluginsdk.RemovePluginResponse) *hostv1.RemovePluginResponse {
	return &hostv1.RemovePluginResponse{
		Plan:    pluginPlanTo(v.Plan),
		Outcome: pointerTo(v.Outcome, pluginOutcomeTo),
	}
}

func removePluginResponseFrom(m *hostv1.RemovePluginResponse) pluginsdk.RemovePluginResponse {
	return pluginsdk.RemovePluginResponse{
		Plan:    pluginPlanFrom(m.GetPlan()),
		Outcome: pointerFrom(m.GetOutcome(), pluginOutcomeFrom),
	}
}

func grantPluginRequestTo(v pluginsdk.GrantPluginRequest) *hostv1.GrantPluginRequest {
	return &hostv1.GrantPluginRequest{
		Name:         v.Name,
		Capabilities: namesTo(v.Capabilities),
	}
}

func grantPluginRequestFrom(m *hostv1.GrantPluginRequest) pluginsdk.GrantPluginRequest {
	return pluginsdk.GrantPluginRequest{
		Name:         m.GetName(),
		Capabilities: namesFrom[pluginsdk.Capability](m.GetCapabilities()),
	}
}

func grantPluginResponseTo(v pluginsdk.GrantPluginResponse) *hostv1.GrantPluginResponse {
	return &hostv1.GrantPluginResponse{
		Outcome: pluginOutcomeTo(v.Outcome),
	}
}

func grantPluginResponseFrom(m *hostv1.GrantPluginResponse) pluginsdk.GrantPluginResponse {
	return pluginsdk.GrantPluginResponse{
		Outcome: pluginOutcomeFrom(m.GetOutcome()),
	}
}

func revokePluginRequestTo(v pluginsdk.RevokePluginRequest) *hostv1.RevokePluginRequest {
	return &hostv1.RevokePluginRequest{
		Name:   v.Name,
		Rights: pluginRightsTo(v.Rights),
	}
}

func revokePluginRequestFrom(m *hostv1.RevokePluginRequest) pluginsdk.RevokePluginRequest {
	return pluginsdk.RevokePluginRequest{
		Name:   m.GetName(),
		Rights: pluginRightsFrom(m.GetRights()),
	}
}

func revokePluginResponseTo(v pluginsdk.RevokePluginResponse) *hostv1.RevokePluginResponse {
	return &hostv1.RevokePluginResponse{
		Outcome: pluginOutcomeTo(v.Outcome),
	}
}

func revokePluginResponseFrom(m *hostv1.RevokePluginResponse) pluginsdk.RevokePluginResponse {
	return pluginsdk.RevokePluginResponse{
		Outcome: pluginOutcomeFrom(m.GetOutcome()),
	}
}

func setPluginLimitsRequestTo(v pluginsdk.SetPluginLimitsRequest) *hostv1.SetPluginLimitsRequest {
	return &hostv1.SetPluginLimitsRequest{
		Name:  v.Name,
		Patch: pluginLimitsPatchTo(v.Patch),
	}
}

func setPluginLimitsRequestFrom(m *hostv1.SetPluginLimitsRequest) pluginsdk.SetPluginLimitsRequest {
	return pluginsdk.SetPluginLimitsRequest{
		Name:  m.GetName(),
		Patch: pluginLimitsPatchFrom(m.GetPatch()),
	}
}

func setPluginLimitsResponseTo(v pluginsdk.SetPluginLimitsResponse) *hostv1.SetPluginLimitsResponse {
	return &hostv1.SetPluginLimitsResponse{
		Outcome: pluginOutcomeTo(v.Outcome),
	}
}

func setPluginLimitsResponseFrom(m *hostv1.SetPluginLimitsResponse) pluginsdk.SetPluginLimitsResponse {
	return pluginsdk.SetPluginLimitsResponse{
		Outcome: pluginOutcomeFrom(m.GetOutcome()),
	}
}

func orderPluginsRequestTo(v pluginsdk.OrderPluginsRequest) *hostv1.OrderPluginsRequest {
	return &hostv1.OrderPluginsRequest{
		Name:   v.Name,
		Before: v.Before,
		After:  v.After,
		Names:  v.Names,
	}
}

func orderPluginsRequestFrom(m *hostv1.OrderPluginsRequest) pluginsdk.OrderPluginsRequest {
	return pluginsdk.OrderPluginsRequest{
		Name:   m.GetName(),
		Before: m.GetBefore(),
		After:  m.GetAfter(),
		Names:  m.GetNames(),
	}
}

func orderPluginsResponseTo(v pluginsdk.OrderPluginsResponse) *hostv1.OrderPluginsResponse {
	return &hostv1.OrderPluginsResponse{
		Order: v.Order,
	}
}

func orderPluginsResponseFrom(m *hostv1.OrderPluginsResponse) pluginsdk.OrderPluginsResponse {
	return pluginsdk.OrderPluginsResponse{
		Order: m.GetOrder(),
	}
}

func followPluginRequestTo(v pluginsdk.FollowPluginRequest) *hostv1.FollowPluginRequest {
	return &hostv1.FollowPluginRequest{
		Name: v.Name,
	}
}

func followPluginRequestFrom(m *hostv1.FollowPluginRequest) pluginsdk.FollowPluginRequest {
	return pluginsdk.FollowPluginRequest{
		Name: m.GetName(),
	}
}

func followPluginResponseTo(v pluginsdk.FollowPluginResponse) *hostv1.FollowPluginResponse {
	return &hostv1.FollowPluginResponse{
		Plugin:   pluginInfoTo(v.Plugin),
		Standing: string(v.Standing),
	}
}

func followPluginResponseFrom(m *hostv1.FollowPluginResponse) pluginsdk.FollowPluginResponse {
	return pluginsdk.FollowPluginResponse{
		Plugin:   pluginInfoFrom(m.GetPlugin()),
		Standing: pluginsdk.PluginStanding(m.GetStanding()),
	}
}
