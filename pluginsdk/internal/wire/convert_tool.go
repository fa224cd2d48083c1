package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func toolSpecTo(v pluginsdk.ToolSpec) *typesv1.ToolSpec {
	return &typesv1.ToolSpec{
		Name:        v.Name,
		Description: v.Description,
		InputSchema: v.InputSchema,
	}
}

func toolSpecFrom(m *typesv1.ToolSpec) pluginsdk.ToolSpec {
	return pluginsdk.ToolSpec{
		Name:        m.GetName(),
		Description: m.GetDescription(),
		InputSchema: m.GetInputSchema(),
	}
}

func toolResultTo(v pluginsdk.ToolResult) *typesv1.ToolResult {
	return &typesv1.ToolResult{
		Text:       v.Text,
		Structured: v.Structured,
		IsError:    v.IsError,
	}
}

func toolResultFrom(m *typesv1.ToolResult) pluginsdk.ToolResult {
	return pluginsdk.ToolResult{
		Text:       m.GetText(),
		Structured: m.GetStructured(),
		IsError:    m.GetIsError(),
	}
}
