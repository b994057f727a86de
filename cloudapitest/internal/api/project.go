package api

// Account is the owner of projects and tokens.
type Account struct{ Name string }

// Token is a personal access token.
type Token struct {
	Account *Account
}

// Project holds its account's other resources. A token acts in it only as a
// member.
type Project struct {
	Object
	Account *Account
	Members map[*Token]bool
}

// AddProject adds a project without members.
func (c *Call) AddProject(id, name string, a *Account) *Project {
	p := &Project{Object{ID: id, Name: name, Created: c.Now}, a, map[*Token]bool{}}
	c.State.Add(p)
	return p
}

// Project returns the project with the ID, or nil.
func (s *State) Project(id string) *Project {
	p, _ := s.ByID[id].(*Project)
	return p
}
