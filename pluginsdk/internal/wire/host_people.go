package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// What people are asked, find, send and may, and what operators want to know.

// commandClient is the host's Commands as a plugin sees it.
type commandClient struct {
	client hostv1.CommandServiceClient
}

func (s hostServer) ListCommands(ctx context.Context, m *hostv1.ListCommandsRequest) (*hostv1.ListCommandsResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.ListCommandsRequest], s.host.Commands.List, listCommandsResponseTo)
}

func (c commandClient) List(ctx context.Context, request *pluginsdk.ListCommandsRequest) (*pluginsdk.ListCommandsResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.ListCommandsRequest], c.client.ListCommands, listCommandsResponseFrom)
}

// approvalClient is the host's Approvals as a plugin sees it.
type approvalClient struct {
	client hostv1.ApprovalServiceClient
}

func (s hostServer) GetApproval(ctx context.Context, m *hostv1.GetApprovalRequest) (*hostv1.GetApprovalResponse, error) {
	return answer(ctx, m, getApprovalRequestFrom, s.host.Approvals.Get, getApprovalResponseTo)
}

func (c approvalClient) Get(ctx context.Context, request *pluginsdk.GetApprovalRequest) (*pluginsdk.GetApprovalResponse, error) {
	return ask(ctx, request, getApprovalRequestTo, c.client.GetApproval, getApprovalResponseFrom)
}

func (s hostServer) ListApprovals(ctx context.Context, m *hostv1.ListApprovalsRequest) (*hostv1.ListApprovalsResponse, error) {
	return answer(ctx, m, listApprovalsRequestFrom, s.host.Approvals.List, listApprovalsResponseTo)
}

func (c approvalClient) List(ctx context.Context, request *pluginsdk.ListApprovalsRequest) (*pluginsdk.ListApprovalsResponse, error) {
	return ask(ctx, request, listApprovalsRequestTo, c.client.ListApprovals, listApprovalsResponseFrom)
}

func (s hostServer) DecideApproval(ctx context.Context, m *hostv1.DecideApprovalRequest) (*hostv1.DecideApprovalResponse, error) {
	return answer(ctx, m, decideApprovalRequestFrom, s.host.Approvals.Decide, decideApprovalResponseTo)
}

func (c approvalClient) Decide(ctx context.Context, request *pluginsdk.DecideApprovalRequest) (*pluginsdk.DecideApprovalResponse, error) {
	return ask(ctx, request, decideApprovalRequestTo, c.client.DecideApproval, decideApprovalResponseFrom)
}

func (s hostServer) ListApprovalRules(ctx context.Context, m *hostv1.ListApprovalRulesRequest) (*hostv1.ListApprovalRulesResponse, error) {
	return answer(ctx, m, listApprovalRulesRequestFrom, s.host.Approvals.Rules, listApprovalRulesResponseTo)
}

func (c approvalClient) Rules(ctx context.Context, request *pluginsdk.ListApprovalRulesRequest) (*pluginsdk.ListApprovalRulesResponse, error) {
	return ask(ctx, request, listApprovalRulesRequestTo, c.client.ListApprovalRules, listApprovalRulesResponseFrom)
}

func (s hostServer) RevokeApprovalRule(ctx context.Context, m *hostv1.RevokeApprovalRuleRequest) (*hostv1.RevokeApprovalRuleResponse, error) {
	return answer(ctx, m, revokeApprovalRuleRequestFrom, s.host.Approvals.Revoke, emptyTo[hostv1.RevokeApprovalRuleResponse])
}

func (c approvalClient) Revoke(ctx context.Context, request *pluginsdk.RevokeApprovalRuleRequest) (*pluginsdk.RevokeApprovalRuleResponse, error) {
	return ask(ctx, request, revokeApprovalRuleRequestTo, c.client.RevokeApprovalRule, emptyFrom[pluginsdk.RevokeApprovalRuleResponse])
}

// searchClient is the host's Search as a plugin sees it.
type searchClient struct {
	client hostv1.SearchServiceClient
}

func (s hostServer) SearchMessages(ctx context.Context, m *hostv1.SearchMessagesRequest) (*hostv1.SearchMessagesResponse, error) {
	return answer(ctx, m, searchMessagesRequestFrom, s.host.Search.Messages, searchMessagesResponseTo)
}

func (c searchClient) Messages(ctx context.Context, request *pluginsdk.SearchMessagesRequest) (*pluginsdk.SearchMessagesResponse, error) {
	return ask(ctx, request, searchMessagesRequestTo, c.client.SearchMessages, searchMessagesResponseFrom)
}

// fileClient is the host's Files as a plugin sees it.
type fileClient struct {
	client hostv1.FileServiceClient
}

func (s hostServer) BeginFile(ctx context.Context, m *hostv1.BeginFileRequest) (*hostv1.BeginFileResponse, error) {
	return answer(ctx, m, beginFileRequestFrom, s.host.Files.Begin, beginFileResponseTo)
}

func (c fileClient) Begin(ctx context.Context, request *pluginsdk.BeginFileRequest) (*pluginsdk.BeginFileResponse, error) {
	return ask(ctx, request, beginFileRequestTo, c.client.BeginFile, beginFileResponseFrom)
}

func (s hostServer) WriteFile(ctx context.Context, m *hostv1.WriteFileRequest) (*hostv1.WriteFileResponse, error) {
	return answer(ctx, m, writeFileRequestFrom, s.host.Files.Write, writeFileResponseTo)
}

func (c fileClient) Write(ctx context.Context, request *pluginsdk.WriteFileRequest) (*pluginsdk.WriteFileResponse, error) {
	return ask(ctx, request, writeFileRequestTo, c.client.WriteFile, writeFileResponseFrom)
}

func (s hostServer) CommitFile(ctx context.Context, m *hostv1.CommitFileRequest) (*hostv1.CommitFileResponse, error) {
	return answer(ctx, m, commitFileRequestFrom, s.host.Files.Commit, commitFileResponseTo)
}

func (c fileClient) Commit(ctx context.Context, request *pluginsdk.CommitFileRequest) (*pluginsdk.CommitFileResponse, error) {
	return ask(ctx, request, commitFileRequestTo, c.client.CommitFile, commitFileResponseFrom)
}

func (s hostServer) GetFile(ctx context.Context, m *hostv1.GetFileRequest) (*hostv1.GetFileResponse, error) {
	return answer(ctx, m, getFileRequestFrom, s.host.Files.Get, getFileResponseTo)
}

func (c fileClient) Get(ctx context.Context, request *pluginsdk.GetFileRequest) (*pluginsdk.GetFileResponse, error) {
	return ask(ctx, request, getFileRequestTo, c.client.GetFile, getFileResponseFrom)
}

func (s hostServer) ListFiles(ctx context.Context, m *hostv1.ListFilesRequest) (*hostv1.ListFilesResponse, error) {
	return answer(ctx, m, listFilesRequestFrom, s.host.Files.List, listFilesResponseTo)
}

func (c fileClient) List(ctx context.Context, request *pluginsdk.ListFilesRequest) (*pluginsdk.ListFilesResponse, error) {
	return ask(ctx, request, listFilesRequestTo, c.client.ListFiles, listFilesResponseFrom)
}

func (s hostServer) ReadFile(ctx context.Context, m *hostv1.ReadFileRequest) (*hostv1.ReadFileResponse, error) {
	return answer(ctx, m, readFileRequestFrom, s.host.Files.Read, readFileResponseTo)
}

func (c fileClient) Read(ctx context.Context, request *pluginsdk.ReadFileRequest) (*pluginsdk.ReadFileResponse, error) {
	return ask(ctx, request, readFileRequestTo, c.client.ReadFile, readFileResponseFrom)
}

func (s hostServer) DeleteFile(ctx context.Context, m *hostv1.DeleteFileRequest) (*hostv1.DeleteFileResponse, error) {
	return answer(ctx, m, deleteFileRequestFrom, s.host.Files.Delete, emptyTo[hostv1.DeleteFileResponse])
}

func (c fileClient) Delete(ctx context.Context, request *pluginsdk.DeleteFileRequest) (*pluginsdk.DeleteFileResponse, error) {
	return ask(ctx, request, deleteFileRequestTo, c.client.DeleteFile, emptyFrom[pluginsdk.DeleteFileResponse])
}

// workspaceClient is the host's Workspace as a plugin sees it.
type workspaceClient struct {
	client hostv1.WorkspaceServiceClient
}

func (s hostServer) ListWorkspace(ctx context.Context, m *hostv1.ListWorkspaceRequest) (*hostv1.ListWorkspaceResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.ListWorkspaceRequest], s.host.Workspace.List, listWorkspaceResponseTo)
}

func (c workspaceClient) List(ctx context.Context, request *pluginsdk.ListWorkspaceRequest) (*pluginsdk.ListWorkspaceResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.ListWorkspaceRequest], c.client.ListWorkspace, listWorkspaceResponseFrom)
}

func (s hostServer) ReadWorkspace(ctx context.Context, m *hostv1.ReadWorkspaceRequest) (*hostv1.ReadWorkspaceResponse, error) {
	return answer(ctx, m, readWorkspaceRequestFrom, s.host.Workspace.Read, readWorkspaceResponseTo)
}

func (c workspaceClient) Read(ctx context.Context, request *pluginsdk.ReadWorkspaceRequest) (*pluginsdk.ReadWorkspaceResponse, error) {
	return ask(ctx, request, readWorkspaceRequestTo, c.client.ReadWorkspace, readWorkspaceResponseFrom)
}

func (s hostServer) WriteWorkspace(ctx context.Context, m *hostv1.WriteWorkspaceRequest) (*hostv1.WriteWorkspaceResponse, error) {
	return answer(ctx, m, writeWorkspaceRequestFrom, s.host.Workspace.Write, writeWorkspaceResponseTo)
}

func (c workspaceClient) Write(ctx context.Context, request *pluginsdk.WriteWorkspaceRequest) (*pluginsdk.WriteWorkspaceResponse, error) {
	return ask(ctx, request, writeWorkspaceRequestTo, c.client.WriteWorkspace, writeWorkspaceResponseFrom)
}

func (s hostServer) DeleteWorkspace(ctx context.Context, m *hostv1.DeleteWorkspaceRequest) (*hostv1.DeleteWorkspaceResponse, error) {
	return answer(ctx, m, deleteWorkspaceRequestFrom, s.host.Workspace.Delete, emptyTo[hostv1.DeleteWorkspaceResponse])
}

func (c workspaceClient) Delete(ctx context.Context, request *pluginsdk.DeleteWorkspaceRequest) (*pluginsdk.DeleteWorkspaceResponse, error) {
	return ask(ctx, request, deleteWorkspaceRequestTo, c.client.DeleteWorkspace, emptyFrom[pluginsdk.DeleteWorkspaceResponse])
}

func (s hostServer) WorkspaceHistory(ctx context.Context, m *hostv1.WorkspaceHistoryRequest) (*hostv1.WorkspaceHistoryResponse, error) {
	return answer(ctx, m, workspaceHistoryRequestFrom, s.host.Workspace.History, workspaceHistoryResponseTo)
}

func (c workspaceClient) History(ctx context.Context, request *pluginsdk.WorkspaceHistoryRequest) (*pluginsdk.WorkspaceHistoryResponse, error) {
	return ask(ctx, request, workspaceHistoryRequestTo, c.client.WorkspaceHistory, workspaceHistoryResponseFrom)
}

// tokenClient is the host's Tokens as a plugin sees it.
type tokenClient struct {
	client hostv1.TokenServiceClient
}

func (s hostServer) CheckToken(ctx context.Context, m *hostv1.CheckTokenRequest) (*hostv1.CheckTokenResponse, error) {
	return answer(ctx, m, checkTokenRequestFrom, s.host.Tokens.Check, checkTokenResponseTo)
}

func (c tokenClient) Check(ctx context.Context, request *pluginsdk.CheckTokenRequest) (*pluginsdk.CheckTokenResponse, error) {
	return ask(ctx, request, checkTokenRequestTo, c.client.CheckToken, checkTokenResponseFrom)
}

func (s hostServer) ExchangeToken(ctx context.Context, m *hostv1.ExchangeTokenRequest) (*hostv1.ExchangeTokenResponse, error) {
	return answer(ctx, m, exchangeTokenRequestFrom, s.host.Tokens.Exchange, exchangeTokenResponseTo)
}

func (c tokenClient) Exchange(ctx context.Context, request *pluginsdk.ExchangeTokenRequest) (*pluginsdk.ExchangeTokenResponse, error) {
	return ask(ctx, request, exchangeTokenRequestTo, c.client.ExchangeToken, exchangeTokenResponseFrom)
}

func (s hostServer) CreateToken(ctx context.Context, m *hostv1.CreateTokenRequest) (*hostv1.CreateTokenResponse, error) {
	return answer(ctx, m, createTokenRequestFrom, s.host.Tokens.Create, createTokenResponseTo)
}

func (c tokenClient) Create(ctx context.Context, request *pluginsdk.CreateTokenRequest) (*pluginsdk.CreateTokenResponse, error) {
	return ask(ctx, request, createTokenRequestTo, c.client.CreateToken, createTokenResponseFrom)
}

func (s hostServer) ListTokens(ctx context.Context, m *hostv1.ListTokensRequest) (*hostv1.ListTokensResponse, error) {
	return answer(ctx, m, listTokensRequestFrom, s.host.Tokens.List, listTokensResponseTo)
}

func (c tokenClient) List(ctx context.Context, request *pluginsdk.ListTokensRequest) (*pluginsdk.ListTokensResponse, error) {
	return ask(ctx, request, listTokensRequestTo, c.client.ListTokens, listTokensResponseFrom)
}

func (s hostServer) RevokeToken(ctx context.Context, m *hostv1.RevokeTokenRequest) (*hostv1.RevokeTokenResponse, error) {
	return answer(ctx, m, revokeTokenRequestFrom, s.host.Tokens.Revoke, emptyTo[hostv1.RevokeTokenResponse])
}

func (c tokenClient) Revoke(ctx context.Context, request *pluginsdk.RevokeTokenRequest) (*pluginsdk.RevokeTokenResponse, error) {
	return ask(ctx, request, revokeTokenRequestTo, c.client.RevokeToken, emptyFrom[pluginsdk.RevokeTokenResponse])
}

// installationClient is the host's Installation as a plugin sees it.
type installationClient struct {
	client hostv1.InstallationServiceClient
}

func (s hostServer) Doctor(ctx context.Context, m *hostv1.DoctorRequest) (*hostv1.DoctorResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.DoctorRequest], s.host.Installation.Doctor, doctorResponseTo)
}

func (c installationClient) Doctor(ctx context.Context, request *pluginsdk.DoctorRequest) (*pluginsdk.DoctorResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.DoctorRequest], c.client.Doctor, doctorResponseFrom)
}

func (s hostServer) ListAudit(ctx context.Context, m *hostv1.ListAuditRequest) (*hostv1.ListAuditResponse, error) {
	return answer(ctx, m, listAuditRequestFrom, s.host.Installation.Audit, listAuditResponseTo)
}

func (c installationClient) Audit(ctx context.Context, request *pluginsdk.ListAuditRequest) (*pluginsdk.ListAuditResponse, error) {
	return ask(ctx, request, listAuditRequestTo, c.client.ListAudit, listAuditResponseFrom)
}

func (s hostServer) Usage(ctx context.Context, m *hostv1.UsageRequest) (*hostv1.UsageResponse, error) {
	return answer(ctx, m, usageRequestFrom, s.host.Installation.Usage, usageResponseTo)
}

func (c installationClient) Usage(ctx context.Context, request *pluginsdk.UsageRequest) (*pluginsdk.UsageResponse, error) {
	return ask(ctx, request, usageRequestTo, c.client.Usage, usageResponseFrom)
}

func (s hostServer) GetPause(ctx context.Context, m *hostv1.GetPauseRequest) (*hostv1.GetPauseResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.GetPauseRequest], s.host.Installation.Pause, getPauseResponseTo)
}

func (c installationClient) Pause(ctx context.Context, request *pluginsdk.GetPauseRequest) (*pluginsdk.GetPauseResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.GetPauseRequest], c.client.GetPause, getPauseResponseFrom)
}

func (s hostServer) SetPause(ctx context.Context, m *hostv1.SetPauseRequest) (*hostv1.SetPauseResponse, error) {
	return answer(ctx, m, setPauseRequestFrom, s.host.Installation.SetPause, setPauseResponseTo)
}

func (c installationClient) SetPause(ctx context.Context, request *pluginsdk.SetPauseRequest) (*pluginsdk.SetPauseResponse, error) {
	return ask(ctx, request, setPauseRequestTo, c.client.SetPause, setPauseResponseFrom)
}

func (s hostServer) MakeBackup(ctx context.Context, m *hostv1.MakeBackupRequest) (*hostv1.MakeBackupResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.MakeBackupRequest], s.host.Installation.Backup, makeBackupResponseTo)
}

func (c installationClient) Backup(ctx context.Context, request *pluginsdk.MakeBackupRequest) (*pluginsdk.MakeBackupResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.MakeBackupRequest], c.client.MakeBackup, makeBackupResponseFrom)
}

func (s hostServer) ListBackups(ctx context.Context, m *hostv1.ListBackupsRequest) (*hostv1.ListBackupsResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.ListBackupsRequest], s.host.Installation.Backups, listBackupsResponseTo)
}

func (c installationClient) Backups(ctx context.Context, request *pluginsdk.ListBackupsRequest) (*pluginsdk.ListBackupsResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.ListBackupsRequest], c.client.ListBackups, listBackupsResponseFrom)
}

func (s hostServer) ReadBackup(ctx context.Context, m *hostv1.ReadBackupRequest) (*hostv1.ReadBackupResponse, error) {
	return answer(ctx, m, readBackupRequestFrom, s.host.Installation.ReadBackup, readBackupResponseTo)
}

func (c installationClient) ReadBackup(ctx context.Context, request *pluginsdk.ReadBackupRequest) (*pluginsdk.ReadBackupResponse, error) {
	return ask(ctx, request, readBackupRequestTo, c.client.ReadBackup, readBackupResponseFrom)
}

func (s hostServer) DeleteBackup(ctx context.Context, m *hostv1.DeleteBackupRequest) (*hostv1.DeleteBackupResponse, error) {
	return answer(ctx, m, deleteBackupRequestFrom, s.host.Installation.DeleteBackup, emptyTo[hostv1.DeleteBackupResponse])
}

func (c installationClient) DeleteBackup(ctx context.Context, request *pluginsdk.DeleteBackupRequest) (*pluginsdk.DeleteBackupResponse, error) {
	return ask(ctx, request, deleteBackupRequestTo, c.client.DeleteBackup, emptyFrom[pluginsdk.DeleteBackupResponse])
}

// accountClient is the host's Accounts as a plugin sees it.
type accountClient struct {
	client hostv1.AccountServiceClient
}

func (s hostServer) ListAccounts(ctx context.Context, m *hostv1.ListAccountsRequest) (*hostv1.ListAccountsResponse, error) {
	return answer(ctx, m, emptyFrom[pluginsdk.ListAccountsRequest], s.host.Accounts.List, listAccountsResponseTo)
}

func (c accountClient) List(ctx context.Context, request *pluginsdk.ListAccountsRequest) (*pluginsdk.ListAccountsResponse, error) {
	return ask(ctx, request, emptyTo[hostv1.ListAccountsRequest], c.client.ListAccounts, listAccountsResponseFrom)
}

func (s hostServer) AddAccount(ctx context.Context, m *hostv1.AddAccountRequest) (*hostv1.AddAccountResponse, error) {
	return answer(ctx, m, addAccountRequestFrom, s.host.Accounts.Add, addAccountResponseTo)
}

func (c accountClient) Add(ctx context.Context, request *pluginsdk.AddAccountRequest) (*pluginsdk.AddAccountResponse, error) {
	return ask(ctx, request, addAccountRequestTo, c.client.AddAccount, addAccountResponseFrom)
}

func (s hostServer) UpdateAccount(ctx context.Context, m *hostv1.UpdateAccountRequest) (*hostv1.UpdateAccountResponse, error) {
	return answer(ctx, m, updateAccountRequestFrom, s.host.Accounts.Update, updateAccountResponseTo)
}

func (c accountClient) Update(ctx context.Context, request *pluginsdk.UpdateAccountRequest) (*pluginsdk.UpdateAccountResponse, error) {
	return ask(ctx, request, updateAccountRequestTo, c.client.UpdateAccount, updateAccountResponseFrom)
}

func (s hostServer) RemoveAccount(ctx context.Context, m *hostv1.RemoveAccountRequest) (*hostv1.RemoveAccountResponse, error) {
	return answer(ctx, m, removeAccountRequestFrom, s.host.Accounts.Remove, emptyTo[hostv1.RemoveAccountResponse])
}

func (c accountClient) Remove(ctx context.Context, request *pluginsdk.RemoveAccountRequest) (*pluginsdk.RemoveAccountResponse, error) {
	return ask(ctx, request, removeAccountRequestTo, c.client.RemoveAccount, emptyFrom[pluginsdk.RemoveAccountResponse])
}

func (s hostServer) AgentRights(ctx context.Context, m *hostv1.AgentRightsRequest) (*hostv1.AgentRightsResponse, error) {
	return answer(ctx, m, rightsRequestFrom, s.host.Accounts.Rights, rightsResponseTo)
}

func (c accountClient) Rights(ctx context.Context, request *pluginsdk.RightsRequest) (*pluginsdk.RightsResponse, error) {
	return ask(ctx, request, rightsRequestTo, c.client.AgentRights, rightsResponseFrom)
}
