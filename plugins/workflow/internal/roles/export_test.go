package roles

// LowerMode returns the permission mode of a role that has one, after a project's file wants another.
func LowerMode(has, wanted string) (mode string, wishes int) {
	role := Role{PermissionMode: has}
	file{}.lowerMode(&role, wanted, func(string, ...any) { wishes++ })
	return role.PermissionMode, wishes
}
