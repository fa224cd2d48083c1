package plugins

import (
	"context"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What needs consent is planned by a page, whose form carries the plan out by its digest. A
// package is taken in as a file before, and is named from then on.

func (p pages) registerDecisions() {
	patient := p.Within(decidePatience)
	patient.Page("GET /plugins/install", pluginsdk.ScopeAdmin, p.install)
	patient.Form("POST /plugins/install", pluginsdk.ScopeAdmin, p.takeIn)
	p.Form("POST /plugins/install/drop", pluginsdk.ScopeAdmin, p.drop)
	patient.Form("POST /plugins/install/agree", pluginsdk.ScopeAdmin, p.agreeInstall)
	patient.Page("GET /plugins/{name}/rollback", pluginsdk.ScopeAdmin, p.planned(rollback))
	patient.Form("POST /plugins/{name}/rollback", pluginsdk.ScopeAdmin, p.agree(rollback))
	p.Page("GET /plugins/{name}/remove", pluginsdk.ScopeAdmin, p.planned(remove))
	patient.Form("POST /plugins/{name}/remove", pluginsdk.ScopeAdmin, p.agree(remove))
}

// decision is something that is planned first. It is asked for again with the digest of its plan.
type decision struct {
	api    string         // the operation's path
	body   map[string]any // of the request, without a digest
	to     string         // where its form is sent
	cancel string         // where somebody goes who does not want it
	hidden map[string]string
	drops  bool // to cancel it gives up the files that hidden names
	plan   pluginsdk.PluginPlan
	wrong  string
}

// make asks for the plan.
func (d *decision) make(ctx context.Context, s *site.Site) error {
	var answer api.PluginDecision
	err := s.Post(ctx, d.api, d.body, &answer)
	d.plan = answer.Plan
	return err
}

// do carries the plan of a digest out.
func (d *decision) do(ctx context.Context, s *site.Site, digest string) (api.PluginDecision, error) {
	var answer api.PluginDecision
	if digest == "" {
		return answer, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the form has no plan: go back, and look at the plan first")
	}
	d.body["digest"] = digest
	err := s.Post(ctx, d.api, d.body, &answer)
	delete(d.body, "digest")
	return answer, err
}

// again shows the plan anew when it is not any more what was agreed to.
func (d *decision) again(ctx context.Context, s *site.Site, err error) error {
	if site.Status(err) != http.StatusConflict {
		return err
	}
	if d.make(ctx, s) != nil {
		return err
	}
	d.wrong = "Meanwhile something has changed: " + err.Error() + ". This is what would be done now."
	return &site.Again{View: d.view()}
}

func (d *decision) view() site.View {
	return site.View{Title: headline(d.plan), At: at, Body: planPage(*d)}
}

// taken is a package that was taken in, as the query and the hidden fields of a form name it.
type taken struct{ file, signature, upload, upgrade string }

func takenFrom(values url.Values) taken {
	return taken{values.Get("file"), values.Get("signature"), strings.TrimSpace(values.Get("upload")), values.Get("upgrade")}
}

func (t taken) query() string {
	return query("file", t.file, "signature", t.signature, "upload", t.upload, "upgrade", t.upgrade)
}

func (t taken) decision() *decision {
	from := map[string]any{}
	for name, value := range map[string]string{"fileId": t.file, "signatureFileId": t.signature, "upload": t.upload} {
		if value != "" {
			from[name] = value
		}
	}
	d := &decision{
		api: "/api/plugins", body: map[string]any{"package": from}, to: at + "/install/agree", cancel: at, drops: t.file != "",
		hidden: map[string]string{"file": t.file, "signature": t.signature, "upload": t.upload, "upgrade": t.upgrade},
	}
	if t.upgrade != "" {
		d.api, d.cancel = "/api"+path(t.upgrade, "upgrade"), tab(t.upgrade, "versions")
	}
	return d
}

// install asks for a package, or shows what would be done with the one that was taken in.
func (p pages) install(r *http.Request) (site.View, error) {
	of := takenFrom(r.URL.Query())
	if of.file == "" && of.upload == "" {
		return chooser(of.upgrade, ""), nil
	}
	d := of.decision()
	if err := d.make(r.Context(), p.Site); err != nil {
		if site.Status(err) == 0 {
			return site.View{}, err
		}
		return chooser(of.upgrade, err.Error()), nil
	}
	return d.view(), nil
}

func chooser(upgrade, wrong string) site.View {
	return site.View{Title: "Install a plugin", At: at, Body: installPage(upgrade, wrong)}
}

// takeIn takes a package in, and leads to its plan. The files of one that cannot be planned
// are given up here, and not by the page of the plan: whoever makes somebody follow a link
// names what files they like in it.
func (p pages) takeIn(r *http.Request) (site.Done, error) {
	of := takenFrom(r.PostForm)
	of.file, of.signature = "", ""
	if r.MultipartForm != nil {
		for field, id := range map[string]*string{"archive": &of.file, "minisig": &of.signature} {
			for _, header := range r.MultipartForm.File[field] {
				var err error
				if *id, err = p.upload(r.Context(), header); err != nil {
					return site.Done{}, &site.Again{View: chooser(of.upgrade, err.Error())}
				}
			}
		}
	}
	if (of.file == "") == (of.upload == "") {
		return site.Done{}, &site.Again{View: chooser(of.upgrade, "Choose the package's file, or name one in the uploads directory.")}
	}
	if d := of.decision(); of.file != "" {
		if err := d.make(r.Context(), p.Site); err != nil {
			p.forget(r.Context(), of)
			return site.Done{}, &site.Again{View: chooser(of.upgrade, err.Error())}
		}
	}
	return site.Done{To: at + "/install?" + of.query()}, nil
}

// upload takes a file of a form in. A field in which none was chosen has an empty one.
func (p pages) upload(ctx context.Context, header *multipart.FileHeader) (id string, err error) {
	if header.Size == 0 {
		return "", nil
	}
	file, err := header.Open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	made, err := p.Upload(ctx, url.Values{"name": {header.Filename}}, file, header.Size)
	return made.ID, err
}

// forget gives up the files of a package. One that cannot be deleted stays among the files.
func (p pages) forget(ctx context.Context, of taken) {
	for _, id := range []string{of.file, of.signature} {
		if id != "" {
			_ = p.Ask(ctx, http.MethodDelete, "/api/files/"+url.PathEscape(id), nil, nil, nil)
		}
	}
}

func (p pages) drop(r *http.Request) (site.Done, error) {
	of := takenFrom(r.PostForm)
	p.forget(r.Context(), of)
	return site.Done{To: of.decision().cancel, Said: "Nothing was changed."}, nil
}

func (p pages) agreeInstall(r *http.Request) (site.Done, error) {
	of := takenFrom(r.PostForm)
	d := of.decision()
	if grants := r.PostForm["grant"]; len(grants) > 0 {
		d.body["grant"] = grants
	}
	if of.upgrade == "" {
		d.body["enable"] = r.PostForm.Get("enable") == "true"
	}
	answer, err := d.do(r.Context(), p.Site, r.PostForm.Get("digest"))
	if err != nil {
		return site.Done{}, d.again(r.Context(), p.Site, err)
	}
	p.forget(r.Context(), of)
	return site.Done{To: followed(answer.Plan.Name, "overview"), Said: done(answer.Plan)}, nil
}

// rollback goes back to an earlier version.
func rollback(r *http.Request) *decision {
	name, to := r.PathValue("name"), strings.TrimSpace(r.FormValue("to"))
	d := &decision{
		api: "/api" + path(name, "rollback"), body: map[string]any{}, to: path(name, "rollback"), cancel: tab(name, "versions"),
		hidden: map[string]string{"to": to},
	}
	if to != "" {
		d.body["to"] = to
	}
	return d
}

// remove removes a plugin for good.
func remove(r *http.Request) *decision {
	name := r.PathValue("name")
	return &decision{
		api: "/api" + path(name, "remove"), body: map[string]any{"keepState": r.FormValue("keepState") == "true"},
		to: path(name, "remove"), cancel: tab(name, "versions"),
	}
}

// planned shows the plan of a decision, or, where there can be none, why not.
func (p pages) planned(of func(*http.Request) *decision) func(*http.Request) (site.View, error) {
	return func(r *http.Request) (site.View, error) {
		d := of(r)
		wrong := d.make(r.Context(), p.Site)
		if wrong == nil {
			return d.view(), nil
		}
		page, err := p.read(r)
		if err != nil || site.Status(wrong) == 0 {
			return site.View{}, wrong
		}
		page.tab, page.wrong = "versions", wrong.Error()
		page.body = versionsTab(page)
		view := page.view()
		view.Status = site.Status(wrong)
		return view, nil
	}
}

func (p pages) agree(of func(*http.Request) *decision) func(*http.Request) (site.Done, error) {
	return func(r *http.Request) (site.Done, error) {
		d := of(r)
		answer, err := d.do(r.Context(), p.Site, r.PostForm.Get("digest"))
		if err != nil {
			return site.Done{}, d.again(r.Context(), p.Site, err)
		}
		if answer.Plan.Action == pluginsdk.ActionRemove {
			return site.Done{To: at, Said: done(answer.Plan)}, nil
		}
		return site.Done{To: followed(answer.Plan.Name, "overview"), Said: done(answer.Plan)}, nil
	}
}

// The words for what a plan does: as a question, on the button, and when it is done.

func headline(plan pluginsdk.PluginPlan) string {
	switch plan.Action {
	case pluginsdk.ActionUpgrade:
		return "Replace " + plan.Name + " " + plan.Was.Version + " by " + plan.Next.Version + "?"
	case pluginsdk.ActionRepair:
		return "Put the files of " + plan.Name + " right?"
	case pluginsdk.ActionRollback:
		return "Take " + plan.Name + " back to " + plan.Next.Version + "?"
	case pluginsdk.ActionRemove:
		return "Remove " + plan.Name + "?"
	case pluginsdk.ActionInstall:
	}
	return "Install " + plan.Name + "?"
}

func button(plan pluginsdk.PluginPlan) string {
	switch plan.Action {
	case pluginsdk.ActionUpgrade:
		return "Replace it by " + plan.Next.Version
	case pluginsdk.ActionRepair:
		return "Put its files right"
	case pluginsdk.ActionRollback:
		return "Go back to " + plan.Next.Version
	case pluginsdk.ActionRemove:
		return "Remove " + plan.Name
	case pluginsdk.ActionInstall:
	}
	return "Install " + plan.Name
}

func done(plan pluginsdk.PluginPlan) string {
	switch plan.Action {
	case pluginsdk.ActionUpgrade, pluginsdk.ActionRollback:
		return plan.Name + " is now to be " + plan.Next.Version + "."
	case pluginsdk.ActionRepair:
		return "The files of " + plan.Name + " are put right."
	case pluginsdk.ActionRemove:
		return plan.Name + " is removed."
	case pluginsdk.ActionInstall:
	}
	return plan.Name + " " + plan.Next.Version + " is installed."
}

// want is a right that a plan's plugin asks for and has not, and whether these pages may
// grant it.
type want struct {
	right
	offered bool
}

func wants(plan pluginsdk.PluginPlan) (all []want) {
	for _, one := range rightsOf(plan.Next.Manifest, nil) {
		capability := pluginsdk.Capability(one.name)
		if slices.Contains(plan.Wants.Capabilities, capability) {
			all = append(all, want{one, slices.Contains(plan.MayGrant, capability)})
		}
	}
	return all
}

// asked is the reason that a plugin gives for a variable.
func asked(manifest pluginsdk.Manifest, variable string) string {
	for _, request := range manifest.Environment {
		if request.Name == variable {
			return request.Reason
		}
	}
	return ""
}

// change is something that is so before or after the plan, and not both.
type change struct {
	tone  ui.Tone
	words string
}

// changes are what differs between the versions, in what a plugin does and asks for. What it
// asks for besides is to be looked at.
func changes(plan pluginsdk.PluginPlan) (all []change) {
	was, next := named(plan.Was.Manifest), named(plan.Next.Manifest)
	for _, name := range next {
		if !slices.Contains(was, name) {
			tone := ui.Plain
			if strings.HasPrefix(name, asksFor) {
				tone = ui.Wait
			}
			all = append(all, change{tone, "new: " + name})
		}
	}
	for _, name := range was {
		if !slices.Contains(next, name) {
			all = append(all, change{ui.Plain, "gone: " + name})
		}
	}
	return all
}

// asksFor is how a wish begins among what is named.
const asksFor = "asks for "

// named is what a manifest has in it, each with what it is.
func named(of pluginsdk.Manifest) (names []string) {
	for _, hook := range of.Hooks {
		names = append(names, "answers "+string(hook))
	}
	for _, command := range of.Commands {
		names = append(names, "the command /"+command.Name)
	}
	for _, tool := range of.Tools {
		names = append(names, "the tool "+tool.Name)
	}
	for _, source := range of.Sources {
		names = append(names, "speaks for "+source+", and is handed what is answered there")
	}
	for _, request := range of.Capabilities {
		names = append(names, asksFor+string(request.Capability))
	}
	for _, request := range of.Environment {
		names = append(names, asksFor+"the variable "+request.Name)
	}
	return names
}
