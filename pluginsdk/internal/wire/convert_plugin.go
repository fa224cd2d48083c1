package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func manifestTo(v pluginsdk.Manifest) *typesv1.Manifest {
	return &typesv1.Manifest{
		Name:           v.Name,
		Version:        v.Version,
		Description:    v.Description,
		Hooks:          namesTo(v.Hooks),
		OnFailure:      namesMapTo(v.OnFailure),
		Needs:          mapTo(v.Needs, partsTo),
		Sources:        v.Sources,
		Commands:       listTo(v.Commands, commandSpecTo),
		Tools:          listTo(v.Tools, toolSpecTo),
		Events:         v.Events,
		Capabilities:   listTo(v.Capabilities, capabilityRequestTo),
		Environment:    listTo(v.Environment, environmentRequestTo),
		SettingsSchema: v.SettingsSchema,
		Exclusive:      v.Exclusive,
		EventRules:     listTo(v.EventRules, eventRuleTo),
		PromptPrefix:   v.PromptPrefix,
	}
}

func manifestFrom(m *typesv1.Manifest) pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:           m.GetName(),
		Version:        m.GetVersion(),
		Description:    m.GetDescription(),
		Hooks:          namesFrom[pluginsdk.Hook](m.GetHooks()),
		OnFailure:      namesMapFrom[pluginsdk.Hook, pluginsdk.OnFailure](m.GetOnFailure()),
		Needs:          mapFrom[pluginsdk.Hook](m.GetNeeds(), partsFrom),
		Sources:        m.GetSources(),
		Commands:       listFrom(m.GetCommands(), commandSpecFrom),
		Tools:          listFrom(m.GetTools(), toolSpecFrom),
		Events:         m.GetEvents(),
		Capabilities:   listFrom(m.GetCapabilities(), capabilityRequestFrom),
		Environment:    listFrom(m.GetEnvironment(), environmentRequestFrom),
		SettingsSchema: m.GetSettingsSchema(),
		Exclusive:      m.GetExclusive(),
		EventRules:     listFrom(m.GetEventRules(), eventRuleFrom),
		PromptPrefix:   m.GetPromptPrefix(),
	}
}

func eventRuleTo(v pluginsdk.EventRule) *typesv1.EventRule {
	return &typesv1.EventRule{
		Types:       v.Types,
		Threads:     v.Threads,
		ThreadKinds: namesTo(v.ThreadKinds),
		RunKinds:    namesTo(v.RunKinds),
		Own:         v.Own,
	}
}

func eventRuleFrom(m *typesv1.EventRule) pluginsdk.EventRule {
	return pluginsdk.EventRule{
		Types:       m.GetTypes(),
		Threads:     m.GetThreads(),
		ThreadKinds: namesFrom[pluginsdk.ThreadKind](m.GetThreadKinds()),
		RunKinds:    namesFrom[pluginsdk.RunKind](m.GetRunKinds()),
		Own:         m.GetOwn(),
	}
}

func partsTo(names []pluginsdk.Part) *typesv1.Parts {
	return &typesv1.Parts{Names: namesTo(names)}
}

func partsFrom(m *typesv1.Parts) []pluginsdk.Part {
	return namesFrom[pluginsdk.Part](m.GetNames())
}

func commandSpecTo(v pluginsdk.CommandSpec) *typesv1.CommandSpec {
	return &typesv1.CommandSpec{
		Name:        v.Name,
		Description: v.Description,
		Usage:       v.Usage,
		Options:     listTo(v.Options, commandOptionTo),
		Scope:       string(v.Scope),
		Beside:      v.Beside,
	}
}

func commandSpecFrom(m *typesv1.CommandSpec) pluginsdk.CommandSpec {
	return pluginsdk.CommandSpec{
		Name:        m.GetName(),
		Description: m.GetDescription(),
		Usage:       m.GetUsage(),
		Options:     listFrom(m.GetOptions(), commandOptionFrom),
		Scope:       pluginsdk.TokenScope(m.GetScope()),
		Beside:      m.GetBeside(),
	}
}

func commandOptionTo(v pluginsdk.CommandOption) *typesv1.CommandOption {
	return &typesv1.CommandOption{
		Name:        v.Name,
		Description: v.Description,
		Type:        string(v.Type),
		Required:    v.Required,
		Choices:     v.Choices,
		Named:       v.Named,
	}
}

func commandOptionFrom(m *typesv1.CommandOption) pluginsdk.CommandOption {
	return pluginsdk.CommandOption{
		Name:        m.GetName(),
		Description: m.GetDescription(),
		Type:        pluginsdk.OptionType(m.GetType()),
		Required:    m.GetRequired(),
		Choices:     m.GetChoices(),
		Named:       m.GetNamed(),
	}
}

func capabilityRequestTo(v pluginsdk.CapabilityRequest) *typesv1.CapabilityRequest {
	return &typesv1.CapabilityRequest{
		Capability: string(v.Capability),
		Reason:     v.Reason,
	}
}

func capabilityRequestFrom(m *typesv1.CapabilityRequest) pluginsdk.CapabilityRequest {
	return pluginsdk.CapabilityRequest{
		Capability: pluginsdk.Capability(m.GetCapability()),
		Reason:     m.GetReason(),
	}
}

func environmentRequestTo(v pluginsdk.EnvironmentRequest) *typesv1.EnvironmentRequest {
	return &typesv1.EnvironmentRequest{
		Name:   v.Name,
		Reason: v.Reason,
	}
}

func environmentRequestFrom(m *typesv1.EnvironmentRequest) pluginsdk.EnvironmentRequest {
	return pluginsdk.EnvironmentRequest{
		Name:   m.GetName(),
		Reason: m.GetReason(),
	}
}
